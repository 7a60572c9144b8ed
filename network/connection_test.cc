#include <algorithm>
#include <random>
#include <stdexcept>
#include <thread>

#include "base/log.h"
#include "network/network_fixture.h"

namespace barnabas::network {
namespace {

std::mutex log_mutex;
std::vector<std::string> log_lines;

/// Collects the log while it lives.
struct LogWatch {
  LogWatch() {
    std::lock_guard lock(log_mutex);
    log_lines.clear();
    set_log_sink([](LogLevel, std::string_view, std::string_view text) {
      std::lock_guard guard(log_mutex);
      log_lines.emplace_back(text);
    });
  }
  ~LogWatch() { set_log_sink(nullptr); }
  static bool has(std::string_view text) {
    std::lock_guard lock(log_mutex);
    return std::ranges::any_of(log_lines,
                               [&](const auto& line) { return line.find(text) != std::string::npos; });
  }
};

TEST(Connection, answers_one_request_after_the_other) {
  TestServer server({}, echo);
  TestClient client = server.connect();
  for (int i = 0; i < 100; ++i) {
    client.send(numbered(i));
    ASSERT_EQ(client.receive(), numbered(i));
  }
}

TEST(Connection, request_may_come_byte_by_byte) {
  TestServer server({}, echo);
  TestClient client = server.connect();
  for (const char c : framed("ab") + framed("c") + framed("defg")) {
    client.send_raw(std::string_view(&c, 1));
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(client.receive(), "ab");
  EXPECT_EQ(client.receive(), "c");
  EXPECT_EQ(client.receive(), "defg");
}

TEST(Connection, burst_of_small_requests_is_answered_in_order) {
  TestServer server({}, echo);
  TestClient client = server.connect();
  std::string burst;
  constexpr int count = 20'000;
  for (int i = 0; i < count; ++i) burst += framed(numbered(i));
  std::thread sender([&] { client.send_raw(burst); });
  for (int i = 0; i < count; ++i) ASSERT_EQ(client.receive(), numbered(i));
  sender.join();
}

TEST(Connection, requests_of_all_sizes_arrive_whole) {
  TestServer server({}, echo);
  TestClient client = server.connect();
  std::mt19937 random(7);
  std::vector<std::string> requests;
  for (const std::size_t size :
       {1, 4, 100, 32 << 10, (32 << 10) + 1, 64 << 10, 128 << 10, 1 << 20, 5 << 20, 17 << 20, 3}) {
    std::string request(size, '\0');
    for (std::size_t i = 0; i < size; i += 1 + random() % 50) request[i] = static_cast<char>(random());
    requests.push_back(request);
  }
  std::thread sender([&] {
    for (const auto& request : requests) client.send(request);
  });
  for (const auto& request : requests) ASSERT_TRUE(client.receive() == request) << request.size();
  sender.join();
}

TEST(Connection, next_request_starts_only_when_the_first_is_answered) {
  TestServer server;
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two"));
  IncomingRequest one = server.take();
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(server.started, 1);
  one.slot.reply(answer("first"));
  IncomingRequest two = server.take();
  EXPECT_EQ(text_of(two), "two");
  two.slot.reply(answer("second"));
  EXPECT_EQ(client.receive(), "first");
  EXPECT_EQ(client.receive(), "second");
}

TEST(Connection, allowed_requests_start_early_and_are_answered_in_order) {
  TestServer server;
  TestClient client = server.connect();
  constexpr int count = 50;
  std::vector<IncomingRequest> requests;
  for (int i = 0; i < count; ++i) client.send(numbered(i));
  for (int i = 0; i < count; ++i) {
    requests.push_back(server.take());
    EXPECT_EQ(text_of(requests.back()), numbered(i));
    requests.back().slot.allow_next();
  }
  std::ranges::shuffle(requests, std::mt19937(3));
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t) {
    threads.emplace_back([&requests, t] {
      for (std::size_t i = static_cast<std::size_t>(t); i < requests.size(); i += 5) {
        requests[i].slot.reply(answer(text_of(requests[i])));
        std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < count; ++i) EXPECT_EQ(client.receive(), numbered(i));
  for (auto& thread : threads) thread.join();
}

TEST(Connection, many_connections_with_answers_from_other_threads_keep_their_order) {
  std::atomic<int> turn = 0;
  io::DiskPool workers({.name = "work", .threads = 4});
  TestServer server({}, [&](IncomingRequest request) {
    request.slot.allow_next();
    const int n = turn++;
    if (n % 3 == 0) return echo(std::move(request));
    auto shared = std::make_shared<IncomingRequest>(std::move(request));
    ASSERT_TRUE(workers.submit([shared, n] {
      if (n % 7 == 0) std::this_thread::sleep_for(100us);
      echo(std::move(*shared));
    }));
  });
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&server, c] {
      TestClient client = server.connect();
      int answered = 0;
      for (int i = 0; i < 500; ++i) {
        client.send(numbered(i));
        if (i - answered < c) continue;
        EXPECT_EQ(client.receive(), numbered(answered++));
      }
      while (answered < 500) EXPECT_EQ(client.receive(), numbered(answered++));
    });
  }
  for (auto& client : clients) client.join();
  workers.shut_down();
}

TEST(Connection, request_without_answer_leaves_no_gap) {
  TestServer server;
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two") + framed("three"));
  server.take().slot.no_reply();
  server.take().slot.no_reply();
  server.take().slot.reply(answer("third"));
  EXPECT_EQ(client.receive(), "third");
}

TEST(Connection, empty_answer_is_a_frame_of_size_zero) {
  TestServer server;
  TestClient client = server.connect();
  client.send("one");
  server.take().slot.reply(OutgoingFrame());
  EXPECT_EQ(client.receive(), "");
}

TEST(Connection, frame_bytes_can_be_changed_in_place) {
  TestServer server;
  TestClient client = server.connect();
  client.send("abc");
  IncomingRequest request = server.take();
  request.frame.mutable_bytes()[1] = std::byte{'X'};
  EXPECT_EQ(text_of(request), "aXc");
  EXPECT_LE(request.received, std::chrono::steady_clock::now());
  EXPECT_EQ(request.connection->peer_address, "127.0.0.1");
  EXPECT_EQ(request.connection->listener, "PLAINTEXT");
  EXPECT_EQ(request.connection->local_port, server.port());
  request.slot.no_reply();
}

TEST(Connection, impossible_sizes_close_with_a_line_that_says_what_came) {
  LogWatch log;
  TestServer server({.request_bytes_max = 1000}, echo);
  for (const char* head :
       {"\xff\xff\xff\xff", "\x7f\xff\xff\xff", "\x80\0\0\0", "\0\0\0\0", "\0\0\x03\xe9"}) {
    TestClient client = server.connect();
    client.send_raw(framed("good") + std::string(head, 4) + "rest");
    EXPECT_EQ(client.receive(), "good");
    EXPECT_TRUE(client.closed_within(5s));
  }
  EXPECT_TRUE(LogWatch::has("peer=127.0.0.1:"));
  EXPECT_TRUE(LogWatch::has("1001 bytes is not in 1..1000"));
  EXPECT_TRUE(LogWatch::has("-1 bytes"));
  TestClient http = server.connect();
  http.send_raw("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(http.closed_within(5s));
  EXPECT_TRUE(LogWatch::has("an HTTP client?"));
  TestClient client = server.connect();
  client.send(std::string(1000, 'x'));
  EXPECT_EQ(client.receive(), std::string(1000, 'x'));
}

TEST(Connection, bad_size_closes_only_after_what_was_started_is_answered) {
  TestServer server;
  TestClient client = server.connect();
  client.send_raw(framed("one"));
  IncomingRequest one = server.take();
  one.slot.allow_next();
  client.send_raw("\xff\xff\xff\xff");
  EXPECT_FALSE(client.anything_within(50ms));
  one.slot.reply(answer("first"));
  EXPECT_EQ(client.receive(), "first");
  EXPECT_TRUE(client.closed_within(5s));
}

TEST(Connection, peer_that_leaves_in_the_middle_of_a_request_is_forgotten) {
  TestServer server({}, echo);
  {
    TestClient client = server.connect();
    client.send("whole");
    EXPECT_EQ(client.receive(), "whole");
    client.send_raw(framed(std::string(1 << 20, 'x')).substr(0, 100'000));
  }
  EXPECT_TRUE(eventually([&] { return server.server->connection_count() == 0; }));
  EXPECT_EQ(server.started, 1);
  EXPECT_EQ(server.closed, 1);
}

TEST(Connection, peer_that_ends_sending_still_gets_its_answers) {
  TestServer server;
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two"));
  client.end_sending();
  server.take().slot.reply(answer("first"));
  IncomingRequest two = server.take();
  std::this_thread::sleep_for(20ms);
  two.slot.reply(answer("second"));
  EXPECT_EQ(client.receive(), "first");
  EXPECT_EQ(client.receive(), "second");
  EXPECT_TRUE(client.closed_within(5s));
}

TEST(Connection, reset_while_pipelining_is_told_and_late_answers_are_dropped) {
  TestServer server;
  TestClient client = server.connect();
  client.send("one");
  IncomingRequest one = server.take();
  one.slot.allow_next();
  client.reset();
  EXPECT_TRUE(eventually([&] { return server.closed == 1; }));
  one.slot.reply(answer("late"));
  EXPECT_EQ(server.server->connection_count(), 0u);
}

TEST(Connection, dropped_slot_closes_with_a_line) {
  LogWatch log;
  TestServer server;
  TestClient client = server.connect();
  client.send("one");
  { IncomingRequest dropped = server.take(); }
  EXPECT_TRUE(client.closed_within(5s));
  EXPECT_TRUE(LogWatch::has("dropped without an answer"));
}

TEST(Connection, closing_slot_waits_for_answers_before_it_and_drops_those_behind) {
  LogWatch log;
  TestServer server;
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two") + framed("three"));
  std::vector<IncomingRequest> requests;
  for (int i = 0; i < 3; ++i) {
    requests.push_back(server.take());
    requests.back().slot.allow_next();
  }
  requests[2].slot.reply(answer("third"));
  requests[1].slot.close("unknown api key 999");
  EXPECT_FALSE(client.anything_within(50ms));
  requests[0].slot.reply(answer("first"));
  EXPECT_EQ(client.receive(), "first");
  EXPECT_EQ(client.receive(), std::nullopt);
  EXPECT_TRUE(LogWatch::has("unknown api key 999"));
}

TEST(Connection, handler_is_never_called_from_inside_reply) {
  std::atomic<int> depth = 0;
  std::atomic<bool> nested = false;
  TestServer server(
      {},
      [&](IncomingRequest request) {
        if (depth++ > 0) nested = true;
        echo(std::move(request));
        --depth;
      },
      1);
  TestClient client = server.connect();
  std::string burst;
  for (int i = 0; i < 300; ++i) burst += framed(numbered(i));
  client.send_raw(burst);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(client.receive(), numbered(i));
  EXPECT_FALSE(nested);
}

TEST(Connection, handler_that_throws_costs_its_own_connection_only) {
  LogWatch log;
  TestServer server({}, [](IncomingRequest request) {
    if (text_of(request) == "bad") throw std::length_error("too long");
    echo(std::move(request));
  });
  TestClient other = server.connect();
  TestClient client = server.connect();
  client.send_raw(framed("good") + framed("bad") + framed("never"));
  EXPECT_EQ(client.receive(), "good");
  EXPECT_EQ(client.receive(), std::nullopt);
  EXPECT_TRUE(LogWatch::has("too long"));
  other.send("still served");
  EXPECT_EQ(other.receive(), "still served");
}

TEST(Connection, timers_of_the_loop_may_answer) {
  TestServer server({}, [](IncomingRequest request) {
    EventLoop& loop = *request.connection->loop;
    EXPECT_TRUE(loop.in_this_thread());
    auto shared = std::make_shared<IncomingRequest>(std::move(request));
    loop.post([shared] { echo(std::move(*shared)); });
  });
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two"));
  EXPECT_EQ(client.receive(), "one");
  EXPECT_EQ(client.receive(), "two");
}

/// Keeps the thread busy.
void spin(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(BusyTime, is_measured_from_the_first_turn_on_and_holds_the_handlers_time) {
  std::atomic<std::chrono::nanoseconds> busy = 0ns;
  TestServer server({}, [&](IncomingRequest request) {
    busy = request.connection->busy_time;
    spin(10ms);
    echo(std::move(request));
  });
  server.measures = true;
  const auto began = std::chrono::steady_clock::now();
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two") + framed("three"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.receive());
  client.send("four");
  EXPECT_TRUE(client.receive());
  EXPECT_GE(busy.load(), 30ms);
  EXPECT_LE(busy.load(), std::chrono::steady_clock::now() - began);
}

TEST(BusyTime, is_forgotten_when_nobody_wants_it) {
  std::atomic<std::chrono::nanoseconds> busy = 0ns;
  TestServer server({}, [&](IncomingRequest request) {
    busy = request.connection->busy_time;
    EXPECT_EQ(request.connection->busy_since.has_value(), server.measures.load());
    spin(10ms);
    echo(std::move(request));
  });
  TestClient client = server.connect();
  for (const bool measures : {true, false, true}) {
    server.measures = measures;
    client.send("one");
    EXPECT_TRUE(client.receive());
  }
  EXPECT_LT(busy.load(), 10ms);
}

}  // namespace
}  // namespace barnabas::network
