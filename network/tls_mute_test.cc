#include <openssl/ssl.h>

#include "network/tls_fixture.h"

namespace barnabas::network {
namespace {

using security::ClientAuth;

constexpr auto long_mute = 3600s;

/// Looks after its connections every 25 ms.
ServerLimits limits(std::chrono::milliseconds idle_max = 3600s) {
  ServerLimits limits;
  limits.idle_max = idle_max;
  limits.overdraft_stall_max = 200ms;
  return limits;
}

class TlsMute : public testing::TestWithParam<int> {
 protected:
  /// A client whose first request was answered with a mute.
  std::unique_ptr<TlsTestClient> muted_client(TlsTestServer& server, AfterReply after,
                                              std::string_view along = "") {
    auto client = std::make_unique<TlsTestClient>(server.port(), TlsClientOptions{.version = GetParam()});
    EXPECT_TRUE(client->handshake()) << client->failure();
    client->send_raw(framed("one").append(along));
    server.server->take().slot.reply(answer("first"), std::move(after));
    EXPECT_EQ(client->receive(), "first");
    return client;
  }
  static bool is_forgotten(const TlsTestServer& server) {
    return eventually([&] { return server.server->server->connection_count() == 0; });
  }
};

TEST_P(TlsMute, peer_that_leaves_is_forgotten_however_it_leaves) {
  TlsTestServer server(ClientAuth::none, {}, limits());
  for (const std::string& along : {std::string(), framed("two").substr(0, 3), framed("two").substr(0, 5)}) {
    for (const std::string way : {"in order", "in order, without closing", "socket only", "hard"}) {
      const auto client = muted_client(server, {.mute_for = long_mute}, along);
      ASSERT_EQ(server.server->server->connection_count(), 1U);
      if (way.starts_with("in order")) client->end_sending();
      if (way == "hard") client->plain().reset();
      if (way == "in order" || way == "socket only") client->plain().close();
      EXPECT_TRUE(is_forgotten(server)) << way << ", having sent " << along.size();
    }
  }
}

TEST_P(TlsMute, peer_that_leaves_after_a_refusal_is_forgotten_at_once) {
  TlsTestServer server(ClientAuth::none, {}, limits());
  const AfterReply refused{.mute_for = long_mute, .close = true, .reason = "wrong password"};
  const auto client = muted_client(server, refused, framed("two"));
  client->end_sending();
  client->plain().close();
  EXPECT_TRUE(is_forgotten(server));
}

TEST_P(TlsMute, peer_that_leaves_behind_requests_is_forgotten_after_the_idle_time) {
  TlsTestServer server(ClientAuth::none, {}, limits(200ms));
  const auto client = muted_client(server, {.mute_for = long_mute});
  client->send("two");
  client->end_sending();
  client->plain().close();
  EXPECT_TRUE(is_forgotten(server));
}

TEST_P(TlsMute, requests_that_come_meanwhile_are_served_afterwards) {
  TlsTestServer server(ClientAuth::none, {}, limits(200ms));
  for (const std::size_t size : {3UL, 20'000UL, 100'000UL}) {
    const auto client = muted_client(server, {.mute_for = 500ms});
    const std::string two(size, 'x');
    client->send(two);
    client->send("three");
    for (const std::string& text : {two, std::string("three")}) {
      IncomingRequest request = server.server->take();
      EXPECT_TRUE(text_of(request) == text) << size;
      request.slot.reply(answer("served"));
      EXPECT_EQ(client->receive(), "served");
    }
  }
}

TEST_P(TlsMute, what_a_peer_sent_before_it_ended_sending_is_still_answered) {
  TlsTestServer server(ClientAuth::none, {}, limits());
  const auto client = muted_client(server, {.mute_for = 300ms});
  client->send("two");
  client->end_sending();
  server.server->take().slot.reply(answer("second"));
  EXPECT_EQ(client->receive(), "second");
  EXPECT_TRUE(client->told_of_the_end());
}

std::string version_name(const testing::TestParamInfo<int>& version) {
  return version.param == TLS1_3_VERSION ? "tls_1_3" : "tls_1_2";
}

INSTANTIATE_TEST_SUITE_P(Versions, TlsMute, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION), version_name);

}  // namespace
}  // namespace barnabas::network
