#include <sys/resource.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "network/memory_budget.h"
#include "network/network_fixture.h"

namespace barnabas::network {
namespace {

using std::chrono::steady_clock;

std::chrono::milliseconds since(steady_clock::time_point began) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - began);
}

TEST(Limits, requests_in_flight_of_a_connection_are_bounded) {
  TestServer server({.requests_in_flight_max = 3});
  TestClient client = server.connect();
  for (int i = 0; i < 10; ++i) client.send(numbered(i));
  std::deque<IncomingRequest> requests;
  for (int i = 0; i < 3; ++i) {
    requests.push_back(server.take());
    requests.back().slot.allow_next();
  }
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(server.started, 3);
  for (int i = 3; i < 10; ++i) {
    requests.front().slot.reply(answer(text_of(requests.front())));
    requests.pop_front();
    requests.push_back(server.take());
    requests.back().slot.allow_next();
    EXPECT_EQ(server.started, i + 1);
  }
  while (!requests.empty()) {
    requests.front().slot.reply(answer(text_of(requests.front())));
    requests.pop_front();
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(client.receive(), numbered(i));
}

TEST(Limits, bytes_in_flight_of_a_connection_stop_reading_from_its_socket) {
  TestServer server({.connection_bytes_in_flight_max = 2 << 20});
  TestClient client = server.connect();
  const std::string request(1 << 20, 'x');
  std::thread sender([&] {
    for (int i = 0; i < 20; ++i) client.send(request);
  });
  std::deque<IncomingRequest> requests;
  for (int i = 0; i < 2; ++i) {
    requests.push_back(server.take());
    requests.back().slot.allow_next();
  }
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(server.started, 2);
  EXPECT_LE(server.loops.budget().used(), 3u << 20);
  for (int i = 0; i < 20; ++i) {
    requests.front().slot.reply(answer("ok"));
    requests.pop_front();
    if (i < 18) {
      requests.push_back(server.take());
      requests.back().slot.allow_next();
    }
    EXPECT_EQ(client.receive(), "ok");
  }
  sender.join();
}

TEST(Limits, request_above_the_bound_of_a_connection_is_let_in_alone) {
  TestServer server({.connection_bytes_in_flight_max = 1000}, echo);
  TestClient client = server.connect();
  client.send(std::string(100'000, 'x'));
  EXPECT_EQ(client.receive(), std::string(100'000, 'x'));
}

TEST(Limits, memory_of_all_requests_is_bounded_and_everyone_gets_through) {
  constexpr uint64_t budget = 4 << 20;
  constexpr std::size_t request_bytes = 1 << 20;
  std::atomic<uint64_t> most = 0;
  TestServer* running = nullptr;
  io::DiskPool workers({.name = "work", .threads = 1});
  TestServer server({.total_bytes_in_flight_max = budget}, [&](IncomingRequest request) {
    request.slot.allow_next();
    most = std::max(most.load(), running->loops.budget().used());
    auto shared = std::make_shared<IncomingRequest>(std::move(request));
    ASSERT_TRUE(workers.submit([shared] {
      std::this_thread::sleep_for(1ms);
      shared->slot.reply(answer("ok"));
      shared->frame = Frame();
    }));
  });
  running = &server;
  std::vector<std::thread> clients;
  for (int c = 0; c < 20; ++c) {
    clients.emplace_back([&server] {
      TestClient client = server.connect();
      for (int i = 0; i < 10; ++i) client.send(std::string(request_bytes, 'x'));
      for (int i = 0; i < 10; ++i) EXPECT_EQ(client.receive(), "ok");
    });
  }
  for (auto& client : clients) client.join();
  // Above the budget: one request a loop, and what was read in the step in which it was used up.
  EXPECT_LE(most.load(), budget + 2 * 2 * request_bytes);
  EXPECT_TRUE(eventually([&] { return server.loops.budget().used() == 0; }));
  workers.shut_down();
}

TEST(Limits, half_sent_requests_cannot_hold_all_memory_against_others) {
  TestServer server({.total_bytes_in_flight_max = 1 << 20, .overdraft_stall_max = 300ms}, echo);
  std::vector<TestClient> holders;
  for (int i = 0; i < 8; ++i) {
    holders.push_back(server.connect());
    holders.back().send_some(framed(std::string(10 << 20, 'x')).substr(0, 300'000));
  }
  ASSERT_TRUE(eventually([&] { return server.loops.budget().exhausted(); }));
  // A holder that may overdraw and does not go on is closed; then the next one, and so on until there is
  // room.
  std::vector<TestClient> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(server.connect());
    clients.back().send(numbered(i));
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(clients[static_cast<std::size_t>(i)].receive(), numbered(i));
}

TEST(Limits, claimed_sizes_cost_nothing_until_the_bytes_come) {
  TestServer server({}, echo);
  const std::size_t before = resident_bytes();
  std::vector<TestClient> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(server.connect());
    clients.back().send_raw(std::string("\x06\x40\0\0", 4) + "ten bytes!");
  }
  ASSERT_TRUE(eventually([&] { return server.loops.budget().used() == 200 * 10; }));
  if (!sanitized) {
    EXPECT_LT(resident_bytes(), before + (20u << 20));
  }
}

/// Holds what says "held" until told to answer, and answers the rest with itself.
class Holder {
 public:
  void take(IncomingRequest request) {
    if (text_of(request) != "held") return echo(std::move(request));
    const std::lock_guard lock(mutex_);
    held_.push_back(std::move(request));
  }
  void answer_all() {
    std::vector<IncomingRequest> held;
    {
      const std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (IncomingRequest& request : held) request.slot.reply(answer("held"));
  }

 private:
  std::mutex mutex_;
  std::vector<IncomingRequest> held_;
};

TEST(Limits, what_connections_have_read_ahead_counts_and_is_bounded_for_all_together) {
  constexpr uint64_t budget = 4 << 20;
  constexpr std::size_t scratch = 128 << 10;
  constexpr std::size_t count = 1000;
  constexpr int behind = 32;
  Holder holder;
  TestServer server({.backlog = 1000, .total_bytes_in_flight_max = budget},
                    [&](IncomingRequest request) { holder.take(std::move(request)); });
  const std::string request(1000, 'x');
  std::string sent = framed("held");
  for (int i = 0; i < behind; ++i) sent += framed(request);
  std::vector<TestClient> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(server.connect());
    clients.back().send_raw(sent);
  }
  // Nobody has to wait for what others have sent along.
  ASSERT_TRUE(eventually([&] { return server.started == count; }));
  TestClient other = server.connect();
  other.send("other");
  EXPECT_EQ(other.receive(), "other");
  const std::size_t taken = count * sent.size() - bytes_left_unread(server.port());
  const std::size_t held = count * framed("held").size();
  EXPECT_LE(taken, budget / 2 + server.loops.size() * scratch + held);
  EXPECT_TRUE(eventually([&] { return server.loops.budget().used() + held >= taken; }))
      << server.loops.budget().used() << " of " << taken << " are counted";
  holder.answer_all();
  for (std::size_t i = 0; i < count; i += 100) {
    EXPECT_EQ(clients[i].receive(), "held");
    for (int n = 0; n < behind; ++n) ASSERT_EQ(clients[i].receive(), request);
  }
  clients.clear();
  EXPECT_TRUE(eventually([&] { return server.loops.budget().used() == 0; }));
}

TEST(Limits, with_all_memory_used_who_is_silent_does_not_keep_others_from_reading) {
  TestServer server({.total_bytes_in_flight_max = 100 << 10, .overdraft_stall_max = 3600s}, {}, 1);
  TestClient holder = server.connect();
  holder.send_raw(framed(std::string(1 << 20, 'x')).substr(0, 4 + (100 << 10)));
  ASSERT_TRUE(eventually([&] { return server.loops.budget().exhausted(); }));
  TestClient first = server.connect();
  TestClient second = server.connect();
  for (TestClient* client : {&first, &second, &first, &second}) {
    client->send("one");
    server.take().slot.reply(answer("answer"));
    EXPECT_EQ(client->receive(), "answer");
  }
}

TEST(Limits, slow_readers_cost_at_most_one_answer_each) {
  const std::string text(1 << 20, 'x');
  std::atomic<int> alive = 0;
  TestServer server({}, [&](IncomingRequest request) {
    if (text_of(request) == "echo") return echo(std::move(request));
    std::shared_ptr<std::string> body(new std::string(text), [&](std::string* made) {
      --alive;
      delete made;
    });
    ++alive;
    OutgoingFrame frame;
    const ByteView view = as_byte_view(*body);
    frame.add(std::move(body), view);
    request.slot.allow_next();
    request.slot.reply(std::move(frame));
  });
  std::vector<TestClient> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(server.connect(4096));
    std::string burst;
    for (int n = 0; n < 100; ++n) burst += framed("big");
    clients.back().send_raw(burst);
  }
  TestClient other = server.connect();
  for (int i = 0; i < 100; ++i) {
    other.send("echo");
    EXPECT_EQ(other.receive(), "echo");
    EXPECT_LE(alive, 51);
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_TRUE(clients.front().receive() == text);
}

TEST(Limits, idle_connections_are_closed_and_long_polls_are_not) {
  TestServer server({.idle_max = 400ms});
  TestClient idle = server.connect();
  TestClient polling = server.connect();
  const auto began = steady_clock::now();
  polling.send("poll");
  IncomingRequest poll = server.take();
  EXPECT_TRUE(idle.closed_within(5s));
  EXPECT_GE(since(began), 390ms);
  EXPECT_LT(since(began), 4s);
  EXPECT_FALSE(polling.anything_within(800ms));
  poll.slot.reply(answer("woken"));
  EXPECT_EQ(polling.receive(), "woken");
  const auto answered = steady_clock::now();
  EXPECT_TRUE(polling.closed_within(5s));
  EXPECT_GE(since(answered), 300ms);
}

TEST(Limits, busy_connections_are_not_idle) {
  TestServer server({.idle_max = 1000ms}, echo);
  TestClient client = server.connect();
  for (int i = 0; i < 20; ++i) {
    client.send(numbered(i));
    ASSERT_EQ(client.receive(), numbered(i));
    std::this_thread::sleep_for(100ms);
  }
}

TEST(Limits, dribbled_request_is_bounded_by_the_idle_time) {
  TestServer server({.idle_max = 400ms}, echo);
  TestClient client = server.connect();
  const std::string request = framed(std::string(1000, 'x'));
  const auto began = steady_clock::now();
  for (const char c : request) {
    client.send_raw(std::string_view(&c, 1));
    if (client.anything_within(20ms)) break;
  }
  EXPECT_TRUE(client.closed_within(5s));
  EXPECT_LT(since(began), 3s);
  EXPECT_EQ(server.started, 0);
}

TEST(Limits, peer_that_does_not_read_is_closed_after_the_idle_time) {
  const std::string text(30 << 20, 'x');
  TestServer server({.idle_max = 300ms}, [&](IncomingRequest request) { request.slot.reply(answer(text)); });
  TestClient client = server.connect(4096);
  client.send("one");
  EXPECT_TRUE(eventually([&] { return server.started == 1 && server.server->connection_count() == 0; }));
}

TEST(Limits, peer_that_vanished_during_a_long_request_is_noticed) {
  TestServer server({.idle_max = 200ms});
  TestClient client = server.connect();
  client.send("one");
  IncomingRequest one = server.take();
  client.reset();
  EXPECT_TRUE(eventually([&] { return server.closed == 1; }));
}

TEST(Limits, connections_are_limited_per_address) {
  TestServer per_address({.connections_per_address_max = 2}, echo);
  TestServer overridden({.connections_per_address_max = 0, .connections_per_address = {{"127.0.0.1", 2}}},
                        echo);
  for (TestServer* server : {&per_address, &overridden}) {
    TestClient first = server->connect();
    {
      TestClient second = server->connect();
      ASSERT_TRUE(eventually([&] { return server->server->connection_count() == 2; }));
      TestClient third = server->connect();
      EXPECT_TRUE(third.closed_within(5s));
      first.send("still served");
      EXPECT_EQ(first.receive(), "still served");
    }
    ASSERT_TRUE(eventually([&] { return server->server->connection_count() == 1; }));
    TestClient again = server->connect();
    again.send("let in");
    EXPECT_EQ(again.receive(), "let in");
  }
}

TEST(Limits, with_no_place_left_the_next_connections_wait_for_one) {
  TestServer server({.connections_max = 2}, echo);
  TestClient first = server.connect();
  {
    TestClient second = server.connect();
    ASSERT_TRUE(eventually([&] { return server.server->connection_count() == 2; }));
    TestClient third = server.connect();
    TestClient fourth = server.connect();
    third.send("third");
    fourth.send("fourth");
    EXPECT_FALSE(third.anything_within(100ms));
    first.send("still served");
    EXPECT_EQ(first.receive(), "still served");
    second.close();
    EXPECT_EQ(third.receive(), "third");
    EXPECT_FALSE(fourth.anything_within(50ms));
    third.close();
    EXPECT_EQ(fourth.receive(), "fourth");
  }
  ASSERT_TRUE(eventually([&] { return server.server->connection_count() == 1; }));
}

TEST(Limits, of_connections_change_while_the_server_runs) {
  TestServer server({}, echo);
  TestClient first = server.connect();
  first.send("one");
  EXPECT_EQ(first.receive(), "one");
  const std::string listener = server.server->bound().front().name;
  for (const ConnectionLimits& limits :
       {ConnectionLimits{.per_address = 1}, ConnectionLimits{.of_address = {{"127.0.0.1", 1}}}}) {
    server.server->set_connection_limits(limits);
    EXPECT_TRUE(server.connect().closed_within(5s));
    first.send("stays");
    EXPECT_EQ(first.receive(), "stays");
    server.server->set_connection_limits({});
    TestClient second = server.connect();
    second.send("let in");
    EXPECT_EQ(second.receive(), "let in");
  }
  for (const ConnectionLimits& limits :
       {ConnectionLimits{.total = 1}, ConnectionLimits{.of_listener = {{listener, 1}}}}) {
    ASSERT_TRUE(eventually([&] { return server.server->connection_count() == 1; }));
    server.server->set_connection_limits(limits);
    TestClient second = server.connect();
    second.send("waits");
    EXPECT_FALSE(second.anything_within(50ms));
    server.server->set_connection_limits({});
    EXPECT_EQ(second.receive(), "waits");
  }
}

TEST(Limits, connections_of_one_listener_are_limited_apart) {
  TestServer server({}, echo);
  Server other(server.loops, server.disk_pool, server, {});
  ASSERT_TRUE(other.bind(
      {{.name = "ONE", .host = "127.0.0.1", .connections_max = 1}, {.name = "FREE", .host = "127.0.0.1"}}));
  other.start_accepting();
  TestClient first(other.bound()[0].port);
  ASSERT_TRUE(eventually([&] { return other.connection_count() == 1; }));
  TestClient second(other.bound()[0].port);
  second.send("waits");
  EXPECT_FALSE(second.anything_within(50ms));
  TestClient third(other.bound()[1].port);
  third.send("one");
  EXPECT_EQ(third.receive(), "one");
  first.close();
  EXPECT_EQ(second.receive(), "waits");
}

TEST(Limits, server_stops_while_connections_wait_for_a_place) {
  TestServer server({.connections_max = 1}, echo);
  TestClient first = server.connect();
  ASSERT_TRUE(eventually([&] { return server.server->connection_count() == 1; }));
  TestClient second = server.connect();
  second.send("never served");
  EXPECT_FALSE(second.anything_within(50ms));
  server.server->begin_stop();
  EXPECT_TRUE(server.server->wait_stopped(10s));
  EXPECT_TRUE(second.closed_within(5s));
}

TEST(Limits, without_descriptors_accepting_pauses_and_goes_on_later) {
  TestServer server({}, echo);
  TestClient before = server.connect();
  before.send("one");
  EXPECT_EQ(before.receive(), "one");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  TestClient client = server.connect();  // its socket exists; the server's may not be accepted yet
  client.send("first");
  EXPECT_EQ(client.receive(), "first");
  TestClient late = [&] {
    // The client's socket takes the last number below the limit, so that the server's accept fails.
    TestClient probe = server.connect();
    const rlimit tight{static_cast<rlim_t>(probe.socket() + 1), limit.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    probe.send("waits");
    return probe;
  }();
  std::this_thread::sleep_for(100ms);
  before.send("served meanwhile");
  EXPECT_EQ(before.receive(), "served meanwhile");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(late.receive(), "waits");
}

TEST(Limits, thousands_of_connections_are_served) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int count = static_cast<int>(std::min<rlim_t>(4000, limit.rlim_cur / 2 - 100));
  TestServer server({.backlog = 1000}, echo);
  std::vector<TestClient> clients;
  const std::size_t before = resident_bytes();
  for (int i = 0; i < count; ++i) clients.push_back(server.connect());
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) clients[static_cast<std::size_t>(i)].send(numbered(i));
    for (int i = 0; i < count; ++i) ASSERT_EQ(clients[static_cast<std::size_t>(i)].receive(), numbered(i));
  }
  EXPECT_EQ(server.server->connection_count(), clients.size());
  // Both ends are in this process. Sanitizers need more for themselves.
  if (!sanitized) {
    EXPECT_LT(resident_bytes() - before, static_cast<std::size_t>(count) * 8 * 1024);
  }
  clients.clear();
  EXPECT_TRUE(eventually([&] { return server.server->connection_count() == 0; }));
}

}  // namespace
}  // namespace barnabas::network
