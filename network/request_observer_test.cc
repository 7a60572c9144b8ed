#include "network/request_observer.h"

#include <sys/socket.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "network/network_fixture.h"

namespace barnabas::network {
namespace {

struct Observed {
  int16_t api = 0;
  RequestTimes times;
  std::chrono::milliseconds muted_for{0};
};

/// Answers with what `answer_to` says, and keeps what it is told.
class ObservedServer : public RequestHandler, public RequestObserver {
 public:
  using Answer = std::function<void(IncomingRequest)>;
  explicit ObservedServer(Answer answering) : answer_to_(std::move(answering)) {
    server_.emplace(loops_, disk_pool_, *this, ServerLimits{}, this);
    EXPECT_TRUE(server_->bind({{.name = "PLAINTEXT", .host = "127.0.0.1"}}));
    loops_.start();
    server_->start_accepting();
  }
  ~ObservedServer() override {
    server_.reset();
    loops_.stop();
  }

  TestClient connect() { return TestClient(server_->bound().front().port); }
  /// Waits for so many.
  std::vector<Observed> observed(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(told_.wait_for(lock, 60s, [&] { return observed_.size() >= count; }));
    return observed_;
  }

  void start(IncomingRequest request) override { answer_to_(std::move(request)); }
  void connection_closed(ConnectionContext&) override {}
  void answered(const ConnectionContext& connection, int16_t api, const RequestTimes& times,
                std::chrono::milliseconds muted_for) override {
    EXPECT_TRUE(connection.loop->in_this_thread());
    const std::lock_guard lock(mutex_);
    observed_.push_back({api, times, muted_for});
    told_.notify_all();
  }

 private:
  const Answer answer_to_;
  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<Observed> observed_;
  io::DiskPool disk_pool_{{.name = "disk", .threads = 1}};
  EventLoops loops_{1};
  std::optional<Server> server_;
};

std::string request_of_api(char key, std::string_view rest = "") {
  return std::string("\0", 1) + key + std::string(rest);
}

bool client_has_bytes(const TestClient& client) {
  char first;
  return ::recv(client.socket(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

void expect_in_order(const RequestTimes& times) {
  EXPECT_LE(times.received, times.started);
  EXPECT_LE(times.started, times.handled);
  EXPECT_LE(times.started, times.answered);
  EXPECT_LE(times.answered, times.taken);
  EXPECT_LE(times.taken, times.sent);
}

TEST(RequestObserver, is_told_of_each_answer_in_the_order_of_requests) {
  ObservedServer server(echo);
  TestClient client = server.connect();
  std::string burst;
  for (char key = 0; key < 100; ++key) burst += framed(request_of_api(key, "rest"));
  client.send_raw(burst);
  for (char key = 0; key < 100; ++key) ASSERT_EQ(client.receive(), request_of_api(key, "rest"));
  const auto observed = server.observed(100);
  ASSERT_EQ(observed.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(observed[static_cast<std::size_t>(i)].api, i);
    expect_in_order(observed[static_cast<std::size_t>(i)].times);
  }
}

TEST(RequestObserver, is_told_of_what_gets_no_answer_and_of_mutes) {
  ObservedServer server([](IncomingRequest request) {
    if (text_of(request).size() == 2) return request.slot.no_reply();
    request.slot.reply(answer("x"), {.mute_for = 1ms});
  });
  TestClient client = server.connect();
  client.send(request_of_api(5));
  client.send(request_of_api(6, "answer"));
  EXPECT_EQ(client.receive(), "x");
  const auto observed = server.observed(2);
  EXPECT_EQ(observed[0].api, 5);
  EXPECT_EQ(observed[0].times.sent, observed[0].times.taken);
  EXPECT_EQ(observed[1].api, 6);
  EXPECT_EQ(observed[1].muted_for, 1ms);
}

TEST(RequestObserver, an_answer_is_sent_once_the_socket_has_all_of_it) {
  const std::string large(32 << 20, 'x');
  ObservedServer server([&](IncomingRequest request) { request.slot.reply(answer(large)); });
  TestClient client = server.connect();
  client.send(request_of_api(1));
  // It has begun to come, and nobody reads: the sockets do not hold all of it.
  ASSERT_TRUE(eventually([&] { return client_has_bytes(client); }));
  EXPECT_TRUE(server.observed(0).empty());
  EXPECT_EQ(client.receive()->size(), large.size());
  const auto observed = server.observed(1);
  EXPECT_LT(observed[0].times.taken, observed[0].times.sent);
}

TEST(RequestObserver, an_answer_from_elsewhere_counts_from_when_it_was_given) {
  std::vector<std::jthread> threads;
  ObservedServer server([&](IncomingRequest request) {
    threads.emplace_back([request = std::move(request)]() mutable {
      std::this_thread::sleep_for(20ms);
      echo(std::move(request));
    });
  });
  TestClient client = server.connect();
  client.send(request_of_api(1));
  EXPECT_TRUE(client.receive());
  const auto observed = server.observed(1);
  EXPECT_GE(observed[0].times.answered - observed[0].times.started, 20ms);
  expect_in_order(observed[0].times);
  threads.clear();
}

TEST(RequestObserver, is_not_told_of_requests_whose_connection_closed) {
  ObservedServer server([](IncomingRequest request) {
    if (text_of(request)[1] == 1) return request.slot.close("as told");
    echo(std::move(request));
  });
  TestClient closed = server.connect();
  closed.send(request_of_api(1));
  EXPECT_EQ(closed.receive(), std::nullopt);
  TestClient client = server.connect();
  client.send(request_of_api(2));
  EXPECT_TRUE(client.receive());
  const auto observed = server.observed(1);
  ASSERT_EQ(observed.size(), 1u);
  EXPECT_EQ(observed[0].api, 2);
}

TEST(RequestObserver, a_request_too_short_for_an_api_key_has_none) {
  ObservedServer server(echo);
  TestClient client = server.connect();
  client.send("x");
  EXPECT_TRUE(client.receive());
  EXPECT_EQ(server.observed(1)[0].api, -1);
}

}  // namespace
}  // namespace barnabas::network
