#include <thread>

#include "network/network_fixture.h"

namespace barnabas::network {
namespace {

TEST(Shutdown, idle_connections_are_closed_at_once) {
  TestServer server({}, echo);
  TestClient used = server.connect();
  used.send("one");
  EXPECT_EQ(used.receive(), "one");
  TestClient fresh = server.connect();
  ASSERT_TRUE(eventually([&] { return server.server->connection_count() == 2; }));
  server.server->begin_stop();
  EXPECT_TRUE(server.server->wait_stopped(10s));
  EXPECT_TRUE(used.closed_within(1s));
  EXPECT_TRUE(fresh.closed_within(1s));
}

TEST(Shutdown, started_requests_are_answered_and_later_ones_are_not_started) {
  TestServer server;
  TestClient client = server.connect();
  client.send_raw(framed("one") + framed("two"));
  IncomingRequest one = server.take();
  server.server->begin_stop();
  EXPECT_FALSE(client.closed_within(50ms));
  one.slot.reply(answer("first"));
  EXPECT_EQ(client.receive(), "first");
  EXPECT_TRUE(client.closed_within(5s));
  EXPECT_TRUE(server.server->wait_stopped(10s));
  EXPECT_EQ(server.started, 1);
}

TEST(Shutdown, long_answers_are_sent_to_the_end) {
  const std::string text(20 << 20, 'x');
  TestServer server({}, [&](IncomingRequest request) { request.slot.reply(answer(text)); });
  TestClient client = server.connect();
  client.send("one");
  ASSERT_TRUE(client.anything_within(5s));
  server.server->begin_stop();
  std::thread waiter([&] { EXPECT_TRUE(server.server->wait_stopped(20s)); });
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(client.receive() == text);
  waiter.join();
}

TEST(Shutdown, new_connections_are_refused) {
  TestServer server({}, echo);
  const uint16_t port = server.port();
  EXPECT_FALSE(connection_refused(port));
  server.server->begin_stop();
  EXPECT_TRUE(server.server->wait_stopped(10s));
  EXPECT_TRUE(connection_refused(port));
}

TEST(Shutdown, deadline_closes_what_is_not_answered) {
  TestServer server;
  TestClient client = server.connect();
  client.send("one");
  IncomingRequest one = server.take();
  server.server->begin_stop();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(server.server->wait_stopped(100ms));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  EXPECT_TRUE(client.closed_within(1s));
  EXPECT_EQ(server.closed, 1);
  one.slot.reply(answer("late"));
}

TEST(Shutdown, second_signal_ends_the_wait) {
  TestServer server;
  TestClient client = server.connect();
  client.send("one");
  IncomingRequest one = server.take();
  server.server->begin_stop();
  std::thread second([&] {
    std::this_thread::sleep_for(50ms);
    server.server->stop_now();
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(server.server->wait_stopped(60s));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
  second.join();
  EXPECT_TRUE(client.closed_within(1s));
}

TEST(Shutdown, under_load_each_client_gets_whole_answers_or_the_end) {
  TestServer server({}, [](IncomingRequest request) {
    request.slot.allow_next();
    echo(std::move(request));
  });
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&server] {
      TestClient client = server.connect();
      for (int i = 0;; ++i) {
        client.send(numbered(i));
        const auto reply = client.receive();
        if (!reply) return;
        ASSERT_EQ(*reply, numbered(i));
      }
    });
  }
  std::this_thread::sleep_for(200ms);
  server.server->begin_stop();
  EXPECT_TRUE(server.server->wait_stopped(10s));
  for (auto& client : clients) client.join();
}

TEST(Shutdown, destroying_a_server_closes_everything) {
  TestServer server;
  TestClient client = server.connect();
  client.send("one");
  IncomingRequest one = server.take();
  server.server.reset();
  EXPECT_TRUE(client.closed_within(1s));
  one.slot.close("late");
}

TEST(Server, port_in_use_is_an_error_that_names_it) {
  TestServer server({}, echo);
  Server second(server.loops, server.disk_pool, server, {});
  const auto bound = second.bind(
      {{.name = "FREE", .host = "127.0.0.1"}, {.name = "TAKEN", .host = "127.0.0.1", .port = server.port()}});
  ASSERT_FALSE(bound);
  EXPECT_NE(bound.error().message.find("listener TAKEN: 127.0.0.1:" + std::to_string(server.port())),
            std::string::npos)
      << bound.error().message;
  EXPECT_FALSE(second.bind({{.name = "NOWHERE", .host = "no-such-host.invalid"}}));
}

TEST(Server, empty_host_listens_on_all_interfaces) {
  TestServer server({}, echo);
  Server second(server.loops, server.disk_pool, server, {});
  ASSERT_TRUE(second.bind({{.name = "ALL"}, {.name = "ALSO", .host = "localhost"}}));
  ASSERT_EQ(second.bound().size(), 2u);
  EXPECT_NE(second.bound()[0].port, second.bound()[1].port);
  second.start_accepting();
  for (const auto& bound : second.bound()) {
    TestClient client(bound.port);
    client.send("one");
    EXPECT_EQ(client.receive(), "one");
  }
}

}  // namespace
}  // namespace barnabas::network
