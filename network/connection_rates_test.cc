#include "network/connection_rates.h"

#include "network/network_fixture.h"

namespace barnabas::network {
namespace {

const Instant start = Instant() + 1000h;
const RateSettings windows{1s, 11};

TEST(ConnectionRates, are_free_without_limits) {
  ConnectionRates rates(windows);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(rates.count("L", start), 0ms);
    ASSERT_EQ(rates.count_address("L", "192.0.2.1", start), 0ms);
  }
}

TEST(ConnectionRates, of_server_and_listener_put_acceptance_off_by_a_window_at_most) {
  ConnectionRates rates(windows);
  rates.set_limits({.total = 100, .of_listener = {{"L", 10}}});
  for (int i = 0; i < 100; ++i) ASSERT_EQ(rates.count("L", start), 0ms);
  EXPECT_EQ(rates.count("L", start), 100ms);  // (10.1 - 10) / 10 * 10 s
  for (int i = 0; i < 100; ++i) rates.count("L", start);
  EXPECT_EQ(rates.count("L", start), 1s);
  EXPECT_EQ(rates.count("OTHER", start), 0ms);
  for (int i = 0; i < 1000; ++i) rates.count("OTHER", start);
  EXPECT_GT(rates.count("OTHER", start), 0ms);
  rates.set_limits({});
  EXPECT_EQ(rates.count("L", start), 0ms);
}

TEST(ConnectionRates, of_an_address_do_not_count_what_is_turned_away) {
  ConnectionRates rates(windows);
  rates.set_limits({.total = 1000});
  rates.set_address_limit(std::nullopt, 1);
  rates.set_address_limit("192.0.2.9", 100);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(rates.count_address("L", "192.0.2.1", start), 0ms);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(rates.count("L", start), 0ms) << "turned away, so it is none of the listener's";
    ASSERT_EQ(rates.count_address("L", "192.0.2.1", start), 1s);
  }
  EXPECT_EQ(rates.count_address("L", "192.0.2.2", start), 0ms) << "each has its own";
  for (int i = 0; i < 100; ++i) ASSERT_EQ(rates.count_address("L", "192.0.2.9", start), 0ms);
  EXPECT_EQ(rates.count_address("L", "192.0.2.1", start + 12s), 0ms);
  rates.set_address_limit(std::nullopt, std::nullopt);
  EXPECT_EQ(rates.count_address("L", "192.0.2.1", start + 12s), 0ms);
}

TEST(ConnectionRates, flood_of_addresses_takes_bounded_memory) {
  ConnectionRates rates(windows);
  rates.set_address_limit(std::nullopt, 1);
  const std::size_t before = resident_bytes();
  for (int i = 0; i < 300'000; ++i) rates.count_address("L", "2001:db8::" + std::to_string(i), start);
  if (!sanitized) {
    EXPECT_LT(resident_bytes(), before + (64 << 20));
  }
}

TEST(ConnectionRates, listener_takes_connections_as_fast_as_it_may) {
  TestServer server({.rate_settings = {100ms, 2}}, echo);
  server.server->set_connection_rate_limits({.of_listener = {{"PLAINTEXT", 50}}});
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 25; ++i) {
    TestClient client = server.connect();
    client.send(numbered(i));
    ASSERT_EQ(client.receive(), numbered(i)) << "none is refused";
  }
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);
}

TEST(ConnectionRates, connections_of_an_address_beyond_its_rate_are_closed_after_a_while) {
  TestServer server({.rate_settings = {500ms, 2}}, echo);
  server.server->set_address_rate_limit("127.0.0.1", 4);  // two in half a second
  TestClient first = server.connect();
  first.send("one");
  EXPECT_EQ(first.receive(), "one");
  TestClient second = server.connect();
  second.send("two");
  EXPECT_EQ(second.receive(), "two");
  const auto began = std::chrono::steady_clock::now();
  TestClient third = server.connect();
  third.send("three");
  EXPECT_FALSE(third.closed_within(100ms));
  EXPECT_TRUE(third.closed_within(5s));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 4s);
  EXPECT_EQ(server.started, 2);
  server.server->set_address_rate_limit("127.0.0.1", std::nullopt);
  TestClient fourth = server.connect();
  fourth.send("four");
  EXPECT_EQ(fourth.receive(), "four");
}

TEST(ConnectionRates, server_stops_while_connections_wait) {
  TestServer server({}, echo);
  server.server->set_connection_rate_limits({.total = 0.01});
  TestClient delayed = server.connect();
  delayed.send("waits");
  EXPECT_FALSE(delayed.anything_within(50ms));
  server.server->begin_stop();
  EXPECT_TRUE(server.server->wait_stopped(10s));
  EXPECT_TRUE(delayed.closed_within(5s));
}

}  // namespace
}  // namespace barnabas::network
