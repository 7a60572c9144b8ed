#include <thread>

#include "network/memory_budget.h"
#include "network/network_fixture.h"

namespace barnabas::network {
namespace {

using Clock = std::chrono::steady_clock;

/// Well above what a loaded machine needs to answer, and well below a test's patience.
constexpr auto mute = 400ms;
constexpr auto long_mute = 3600s;

AfterReply muted(std::chrono::milliseconds time) {
  return {.mute_for = time};
}

TEST(Mute, answer_leaves_at_once_and_the_next_request_starts_when_the_time_is_over) {
  TestServer server;
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two"));
  const auto began = Clock::now();
  server.take().slot.reply(answer("first"), muted(mute));
  EXPECT_EQ(client.receive(), "first");
  EXPECT_LT(Clock::now() - began, mute);
  IncomingRequest two = server.take();
  EXPECT_GE(Clock::now() - began, mute);
  EXPECT_EQ(text_of(two), "two");
  two.slot.reply(answer("second"));
  EXPECT_EQ(client.receive(), "second");
}

TEST(Mute, time_is_kept_precisely_and_not_by_the_tick) {
  TestServer server;  // ticks once a second
  TestClient client = server.connect();
  client.send("one");
  server.take().slot.reply(answer("first"), muted(30ms));
  EXPECT_EQ(client.receive(), "first");
  Clock::duration best = 10s;
  for (int i = 0; i < 10; ++i) {  // the machine may be busy, but not ten times
    client.send("again");
    const auto began = Clock::now();
    server.take().slot.reply(answer("x"), muted(30ms));
    EXPECT_EQ(client.receive(), "x");
    client.send("next");
    server.take().slot.reply(answer("y"));
    best = std::min(best, Clock::now() - began);
    EXPECT_EQ(client.receive(), "y");
  }
  EXPECT_GE(best, 29ms);
  EXPECT_LT(best, 300ms);
}

TEST(Mute, nothing_is_read_meanwhile) {
  TestServer server;
  TestClient client = server.connect();
  client.send("one");
  server.take().slot.reply(answer("first"), muted(long_mute));
  EXPECT_EQ(client.receive(), "first");
  const std::string request = framed(std::string(1 << 20, 'x'));
  std::size_t taken = 0;
  for (int i = 0; i < 100; ++i) {
    const std::size_t sent = client.send_some(request);
    taken += sent;
    if (sent == 0) break;
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_LT(taken, 100U << 20) << "the socket never filled up";
  EXPECT_EQ(server.started, 1);
}

TEST(Mute, requests_that_were_started_before_are_answered_in_order_and_no_other_is_started) {
  TestServer server;
  TestClient client = server.connect();
  std::vector<IncomingRequest> started;
  for (int i = 0; i < 4; ++i) {
    client.send(numbered(i));
    started.push_back(server.take());
    if (i < 3) started.back().slot.allow_next();
  }
  client.send("later");
  // The throttled answer is ready first, and waits for those before it.
  started[2].slot.reply(answer("2"), muted(long_mute));
  EXPECT_FALSE(client.anything_within(50ms));
  started[0].slot.reply(answer("0"));
  started[1].slot.reply(answer("1"));
  for (const char* text : {"0", "1", "2"}) EXPECT_EQ(client.receive(), text);
  started[3].slot.reply(answer("3"));
  EXPECT_EQ(client.receive(), "3");
  EXPECT_FALSE(client.anything_within(100ms));
  EXPECT_EQ(server.started, 4);
}

TEST(Mute, longest_of_several_counts) {
  TestServer server;
  TestClient client = server.connect();
  std::vector<IncomingRequest> started;
  for (int i = 0; i < 3; ++i) {
    client.send(numbered(i));
    started.push_back(server.take());
    started.back().slot.allow_next();
  }
  const auto began = Clock::now();
  started[0].slot.reply(answer("0"), muted(20ms));
  started[1].slot.reply(answer("1"), muted(mute));
  started[2].slot.reply(answer("2"), muted(20ms));
  for (const char* text : {"0", "1", "2"}) EXPECT_EQ(client.receive(), text);
  client.send("next");
  server.take().slot.reply(answer("next"));
  EXPECT_GE(Clock::now() - began, mute);
  EXPECT_EQ(client.receive(), "next");
}

TEST(Mute, closes_after_the_time_when_told_so) {
  TestServer server;
  TestClient client = server.connect();
  std::vector<IncomingRequest> started;
  for (int i = 0; i < 2; ++i) {
    client.send(numbered(i));
    started.push_back(server.take());
    if (i == 0) started.back().slot.allow_next();
  }
  const auto began = Clock::now();
  started[0].slot.reply(answer("refused"), {.mute_for = mute, .close = true, .reason = "wrong password"});
  EXPECT_EQ(client.receive(), "refused");
  started[1].slot.reply(answer("never seen"));
  EXPECT_FALSE(client.receive());
  EXPECT_GE(Clock::now() - began, mute);
  EXPECT_EQ(server.started, 2);
}

TEST(Mute, closes_at_once_when_told_so_without_a_time) {
  TestServer server;
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two"));
  server.take().slot.reply(answer("refused"), {.close = true, .reason = "wrong password"});
  EXPECT_EQ(client.receive(), "refused");
  EXPECT_TRUE(client.closed_within(5s));
  EXPECT_EQ(server.started, 1);
}

TEST(Mute, muted_connection_is_not_idle) {
  TestServer server({.idle_max = 100ms});
  TestClient client = server.connect();
  client.send("one");
  server.take().slot.reply(answer("first"), muted(1000ms));
  EXPECT_EQ(client.receive(), "first");
  EXPECT_FALSE(client.closed_within(600ms));
  client.send("two");
  server.take().slot.reply(answer("second"));
  EXPECT_EQ(client.receive(), "second");
}

TEST(Mute, request_that_was_half_read_is_not_late) {
  TestServer server({.idle_max = 200ms});
  TestClient client = server.connect();
  const std::string two = framed("two");
  client.send_raw(framed("one") + two.substr(0, 5));
  server.take().slot.reply(answer("first"), muted(800ms));
  EXPECT_EQ(client.receive(), "first");
  client.send_raw(two.substr(5));
  server.take().slot.reply(answer("second"));
  EXPECT_EQ(client.receive(), "second");
}

TEST(Mute, peer_that_leaves_meanwhile_is_forgotten) {
  TestServer server({.idle_max = 200ms});  // ticks every 25 ms
  for (const bool hard : {false, true}) {
    TestClient client = server.connect();
    client.send("one");
    server.take().slot.reply(answer("first"), muted(long_mute));
    EXPECT_EQ(client.receive(), "first");
    ASSERT_EQ(server.server->connection_count(), 1U);
    hard ? client.reset() : client.close();
    EXPECT_TRUE(eventually([&] { return server.server->connection_count() == 0; })) << hard;
  }
}

TEST(Mute, peer_that_leaves_is_forgotten_whatever_it_sent_before) {
  TestServer server({.idle_max = 200ms});
  for (const bool hard : {false, true}) {
    for (const std::string& before :
         {framed("two").substr(0, 3), framed("two").substr(0, 5), framed("two")}) {
      TestClient client = server.connect();
      client.send_raw(framed("one") + before);
      server.take().slot.reply(answer("first"), muted(long_mute));
      EXPECT_EQ(client.receive(), "first");
      ASSERT_EQ(server.server->connection_count(), 1U);
      hard ? client.reset() : client.close();
      EXPECT_TRUE(eventually([&] { return server.server->connection_count() == 0; })) << before.size();
    }
  }
}

TEST(Mute, peer_that_leaves_is_forgotten_whatever_it_sent_meanwhile) {
  TestServer server({.idle_max = 200ms});
  for (const bool hard : {false, true}) {
    TestClient client = server.connect();
    client.send("one");
    server.take().slot.reply(answer("first"), muted(long_mute));
    EXPECT_EQ(client.receive(), "first");
    client.send("two");
    hard ? client.reset() : client.close();
    EXPECT_TRUE(eventually([&] { return server.server->connection_count() == 0; })) << hard;
  }
}

TEST(Mute, peer_that_leaves_is_forgotten_also_where_nobody_is_ever_idle) {
  TestServer server({.idle_max = -1ms, .overdraft_stall_max = 200ms});  // ticks every 25 ms
  for (const bool hard : {false, true}) {
    TestClient client = server.connect();
    client.send_raw(framed("one") + "beginning of another");
    server.take().slot.reply(answer("first"), muted(long_mute));
    EXPECT_EQ(client.receive(), "first");
    hard ? client.reset() : client.close();
    EXPECT_TRUE(eventually([&] { return server.server->connection_count() == 0; })) << hard;
  }
}

TEST(Mute, peer_that_leaves_after_a_refusal_is_forgotten_at_once) {
  TestServer server({.idle_max = 3600s, .overdraft_stall_max = 200ms});
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two"));
  server.take().slot.reply(answer("no"), {.mute_for = long_mute, .close = true, .reason = "wrong password"});
  EXPECT_EQ(client.receive(), "no");
  client.close();
  EXPECT_TRUE(eventually([&] { return server.server->connection_count() == 0; }));
}

TEST(Mute, peer_that_is_gone_is_forgotten_although_answers_are_owed_to_it) {
  TestServer server({.idle_max = 3600s, .overdraft_stall_max = 200ms});
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two"));
  IncomingRequest one = server.take();
  one.slot.allow_next();
  const IncomingRequest two = server.take();
  one.slot.reply(answer("first"), muted(long_mute));
  EXPECT_EQ(client.receive(), "first");
  client.reset();
  EXPECT_TRUE(eventually([&] { return server.server->connection_count() == 0; }));
}

TEST(Mute, what_a_peer_sent_before_it_ended_sending_is_still_answered) {
  TestServer server({.idle_max = 3600s, .overdraft_stall_max = 200ms});
  for (const bool along : {false, true}) {
    TestClient client = server.connect();
    client.send_raw(framed("one") + (along ? framed("two") : ""));
    server.take().slot.reply(answer("first"), muted(mute));
    EXPECT_EQ(client.receive(), "first");
    if (!along) client.send("two");
    client.end_sending();
    server.take().slot.reply(answer("second"));
    EXPECT_EQ(client.receive(), "second");
    EXPECT_TRUE(client.closed_within(5s));
  }
}

TEST(Mute, half_read_request_does_not_keep_memory_from_others) {
  TestServer server({.total_bytes_in_flight_max = 1 << 20, .overdraft_stall_max = 300ms}, {}, 1);
  TestClient muted_one = server.connect();
  muted_one.send_raw(framed("one") + framed(std::string(4 << 20, 'x')).substr(0, 2 << 20));
  IncomingRequest one = server.take();
  one.frame = Frame();
  one.slot.allow_next();  // reads on, into the overdraft
  ASSERT_TRUE(eventually([&] { return server.loops.budget().used() >= 1 << 20; }));
  one.slot.reply(answer("first"), muted(long_mute));
  EXPECT_EQ(muted_one.receive(), "first");
  TestClient other = server.connect();
  other.send("other");
  server.take().slot.reply(answer("served"));
  EXPECT_EQ(other.receive(), "served");
  EXPECT_TRUE(muted_one.closed_within(10s));
  EXPECT_TRUE(eventually([&] { return server.loops.budget().used() == 0; }));
}

TEST(Mute, ends_when_the_server_stops) {
  TestServer server;
  TestClient waiting = server.connect();
  TestClient refused = server.connect();
  waiting.send("one");
  server.take().slot.reply(answer("first"), muted(long_mute));
  refused.send("two");
  server.take().slot.reply(answer("no"), {.mute_for = long_mute, .close = true, .reason = "wrong password"});
  EXPECT_EQ(waiting.receive(), "first");
  EXPECT_EQ(refused.receive(), "no");
  waiting.send("never started");
  server.server->begin_stop();
  EXPECT_TRUE(server.server->wait_stopped(10s));
  EXPECT_TRUE(waiting.closed_within(1s));
  EXPECT_TRUE(refused.closed_within(1s));
  EXPECT_EQ(server.started, 2);
}

TEST(Mute, answers_given_after_the_stop_began_mute_nobody) {
  TestServer server;
  TestClient client = server.connect();
  client.send("one");
  IncomingRequest one = server.take();
  server.server->begin_stop();
  one.slot.reply(answer("first"), muted(long_mute));
  EXPECT_EQ(client.receive(), "first");
  EXPECT_TRUE(server.server->wait_stopped(10s));
}

TEST(Mute, many_connections_muted_from_other_threads_all_go_on) {
  io::DiskPool workers({.name = "work", .threads = 3});
  TestServer server({}, [&](IncomingRequest request) {
    EXPECT_TRUE(workers.submit([request = std::move(request)]() mutable {
      request.slot.reply(answer(text_of(request)), muted(1ms));
    }));
  });
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&server, c] {
      TestClient client = server.connect();
      // Some leave while they are muted.
      for (int i = 0; i < (c % 2 == 0 ? 40 : 1); ++i) {
        client.send(numbered(i));
        ASSERT_EQ(client.receive(), numbered(i));
      }
    });
  }
  for (auto& client : clients) client.join();
  workers.shut_down();
}

}  // namespace
}  // namespace barnabas::network
