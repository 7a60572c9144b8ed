// Peers of listeners that ask for authentication, before they have shown who they are.
#include "network/network_fixture.h"

namespace barnabas::network {
namespace {

const ListenerConfig asking{.name = "CLIENTS",
                            .security_protocol = security::SecurityProtocol::sasl_plaintext,
                            .host = "127.0.0.1",
                            .authentication_bytes_max = 1000};

/// Takes "let me in" for an authentication.
void let_in(IncomingRequest request) {
  if (text_of(request) == "let me in") request.connection->admitted = true;
  echo(std::move(request));
}

TEST(Strangers, are_given_small_requests_only) {
  TestServer server({}, let_in, 1, asking);
  TestClient client = server.connect();
  client.send(std::string(1000, 'x'));
  EXPECT_EQ(client.receive(), std::string(1000, 'x'));
  // The size alone is enough.
  client.send_raw(std::string("\0\0\x03\xE9", 4));
  EXPECT_TRUE(client.closed_within(5000ms));
  EXPECT_EQ(server.started, 1);
}

TEST(Strangers, are_strangers_no_more_once_they_are_let_in) {
  TestServer server({.authentication_max = 300ms}, let_in, 1, asking);
  TestClient client = server.connect();
  client.send("let me in");
  EXPECT_EQ(client.receive(), "let me in");
  client.send(std::string(100'000, 'x'));
  EXPECT_EQ(client.receive(), std::string(100'000, 'x'));
  EXPECT_FALSE(client.closed_within(600ms));
}

TEST(Strangers, may_say_nothing_in_a_frame_as_some_mechanisms_do) {
  TestServer server({}, let_in, 1, asking);
  TestClient client = server.connect();
  client.send("");
  EXPECT_EQ(client.receive(), "");
  client.send("let me in");
  EXPECT_EQ(client.receive(), "let me in");
  client.send("");
  EXPECT_TRUE(client.closed_within(5000ms));
  EXPECT_EQ(server.started, 2);
}

TEST(Strangers, do_not_stay_whatever_they_send) {
  TestServer server({.authentication_max = 300ms}, let_in, 1, asking);
  TestClient silent = server.connect();
  TestClient busy = server.connect();
  EXPECT_TRUE(eventually([&] {
    busy.send("x");
    return busy.closed_within(20ms);
  }));
  EXPECT_TRUE(silent.closed_within(5000ms));
}

TEST(Strangers, are_unknown_where_nobody_is_asked) {
  TestServer server({.authentication_max = 100ms}, echo);
  TestClient client = server.connect();
  EXPECT_FALSE(client.closed_within(400ms));
  client.send(std::string(100'000, 'x'));
  EXPECT_EQ(client.receive(), std::string(100'000, 'x'));
}

}  // namespace
}  // namespace barnabas::network
