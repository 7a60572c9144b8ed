#include <openssl/ssl.h>

#include <thread>

#include "network/tls_fixture.h"

namespace barnabas::network {
namespace {

using security::ClientAuth;
using security::TestIdentity;

/// Answers with the principal of the connection.
void tell_principal(IncomingRequest request) {
  request.slot.reply(answer(request.connection->principal.to_string()));
}

struct FreeSession {
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
using Session = std::unique_ptr<SSL_SESSION, FreeSession>;

const TestIdentity& alice() {
  static const TestIdentity made =
      TlsTestServer::authority().issue({{"O", "example"}, {"CN", "alice"}}, {.usage = "clientAuth"});
  return made;
}

TEST(TlsHandshake, both_versions_are_served) {
  const TlsTestServer server;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsTestClient client(server.port(), {.version = version});
    ASSERT_TRUE(client.handshake()) << client.failure();
    EXPECT_EQ(client.ask("hello"), "hello");
  }
}

TEST(TlsHandshake, older_versions_are_refused) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = TLS1_1_VERSION});
  SSL_set_security_level(client.native(), 0);
  EXPECT_FALSE(client.handshake());
}

TEST(TlsHandshake, may_come_one_byte_at_a_time) {
  const TlsTestServer server(ClientAuth::required, tell_principal);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsTestClient client(server.port(), {.version = version, .identity = &alice(), .portion = 1});
    ASSERT_TRUE(client.handshake()) << client.failure();
    EXPECT_EQ(client.ask("who"), "User:CN=alice,O=example");
  }
}

TEST(TlsHandshake, a_request_may_come_along_with_its_end) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = TLS1_3_VERSION});
  // Everything that the client says leaves in one write: it holds back until it may send data.
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_EQ(client.ask("at once"), "at once");
}

TEST(TlsHandshake, a_peer_that_stalls_is_dropped_and_others_are_served) {
  const LogLines log;
  TlsTestServer server(ClientAuth::none, echo, {.handshake_max = 300ms});
  TestClient silent(server.port());
  TestClient half(server.port());
  half.send_raw(std::string("\x16\x03\x01\x02\x00\x01\x00", 7));
  TlsTestClient client(server.port());
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_EQ(client.ask("hello"), "hello");
  EXPECT_TRUE(silent.closed_within(10s));
  EXPECT_TRUE(half.closed_within(10s));
  EXPECT_TRUE(log.hold("TLS handshake not completed in time"));
  EXPECT_TRUE(eventually([&] { return server.server->server->connection_count() == 1; }));
  EXPECT_EQ(client.ask("still here"), "still here") << "the deadline is the handshake's only";
}

TEST(TlsHandshake, plaintext_on_a_tls_listener_gets_a_line_that_says_so) {
  const LogLines log;
  const TlsTestServer server;
  TestClient kafka(server.port());
  kafka.send(std::string("\0\x12\0\0\0\0\0\1\0\4test", 14));
  EXPECT_TRUE(kafka.closed_within(10s));
  EXPECT_TRUE(log.hold("plaintext on a TLS listener (a client with security.protocol=PLAINTEXT"));
  TestClient http(server.port());
  http.send_raw("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(http.closed_within(10s));
  EXPECT_TRUE(log.hold("plaintext on a TLS listener (an HTTP client?)"));
  EXPECT_EQ(log.count("peer=127.0.0.1:"), 2U);
}

TEST(TlsHandshake, tls_on_a_plaintext_listener_gets_a_line_that_says_so) {
  const LogLines log;
  const TestServer server({}, echo);
  TlsTestClient client(server.port());
  EXPECT_FALSE(client.handshake());
  EXPECT_TRUE(log.hold("a TLS client on a plaintext listener?"));
  EXPECT_EQ(log.count("peer=127.0.0.1:"), 1U);
}

TEST(TlsHandshake, whoever_only_looks_whether_the_port_is_open_gets_no_line) {
  const LogLines log;
  TlsTestServer server;
  { const TestClient client(server.port()); }
  EXPECT_TRUE(eventually([&] { return server.server->server->connection_count() == 0; }));
  EXPECT_EQ(log.count("peer="), 0U);
}

TEST(TlsHandshake, garbage_is_dropped) {
  const TlsTestServer server;
  for (unsigned seed = 1; seed < 20; ++seed) {
    TestClient client(server.port());
    std::string bytes("\x16\x03\x01", 3);
    for (unsigned i = 0; i < 400; ++i) bytes += static_cast<char>((i * 2654435761u * seed) >> 11);
    client.send_raw(bytes);
    client.end_sending();
    EXPECT_TRUE(client.closed_within(10s)) << seed;
  }
}

TEST(MutualTls, the_certificates_subject_is_the_principal) {
  const TlsTestServer server(ClientAuth::required, tell_principal);
  TlsTestClient client(server.port(), {.identity = &alice()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_EQ(client.ask("who"), "User:CN=alice,O=example");
}

TEST(MutualTls, rules_map_the_principal_and_no_rule_closes) {
  const LogLines log;
  auto settings = TlsTestServer::settings(ClientAuth::required);
  settings.principal_mapping_rules = "RULE:^CN=([^,]*),O=example$/$1/U";
  const TlsTestServer server(settings, tell_principal);
  TlsTestClient client(server.port(), {.identity = &alice()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_EQ(client.ask("who"), "User:ALICE");
  const TestIdentity other = TlsTestServer::authority().issue({{"CN", "other"}});
  TlsTestClient nobody(server.port(), {.identity = &other});
  EXPECT_FALSE(nobody.handshake() && nobody.ask("who").has_value());
  EXPECT_TRUE(log.hold("no rule of ssl.principal.mapping.rules has a name for CN=other"));
}

TEST(MutualTls, required_means_that_nobody_without_a_certificate_gets_in) {
  const LogLines log;
  const TlsTestServer server(ClientAuth::required, tell_principal);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsTestClient client(server.port(), {.version = version});
    EXPECT_FALSE(client.handshake() && client.ask("who").has_value());
  }
  EXPECT_TRUE(log.hold("peer did not return a certificate"));
  EXPECT_EQ(server.server->started, 0);
}

TEST(MutualTls, requested_means_that_a_client_may_have_none) {
  const TlsTestServer server(ClientAuth::requested, tell_principal);
  TlsTestClient nobody(server.port());
  ASSERT_TRUE(nobody.handshake()) << nobody.failure();
  EXPECT_EQ(nobody.ask("who"), "User:ANONYMOUS");
  TlsTestClient client(server.port(), {.identity = &alice()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_EQ(client.ask("who"), "User:CN=alice,O=example");
}

TEST(MutualTls, certificates_that_prove_nothing_are_refused) {
  const LogLines log;
  const security::TestAuthority stranger("stranger");
  const TestIdentity foreign = stranger.issue({{"CN", "alice"}, {"O", "example"}});
  const TestIdentity expired = TlsTestServer::authority().issue({{"CN", "alice"}}, {.days = -1});
  const TestIdentity servers = TlsTestServer::authority().issue({{"CN", "alice"}}, {.usage = "serverAuth"});
  for (const ClientAuth client_auth : {ClientAuth::required, ClientAuth::requested}) {
    const TlsTestServer server(client_auth, tell_principal);
    for (const TestIdentity* identity : {&foreign, &expired, &servers}) {
      TlsTestClient client(server.port(), {.identity = identity});
      EXPECT_FALSE(client.handshake() && client.ask("who").has_value());
    }
    EXPECT_EQ(server.server->started, 0);
  }
  EXPECT_TRUE(log.hold("certificate has expired"));
}

TEST(MutualTls, who_is_not_asked_for_a_certificate_is_anonymous) {
  const TlsTestServer server(ClientAuth::none, tell_principal);
  TlsTestClient client(server.port(), {.identity = &alice()});
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_EQ(client.ask("who"), "User:ANONYMOUS");
}

struct Resumption {
  int version;
  bool tickets;
};

/// A session of a first connection, after it was used.
Session first_session(const TlsTestServer& server, const Resumption& how, const TestIdentity* identity) {
  TlsTestClient client(server.port(), {.version = how.version, .identity = identity, .tickets = how.tickets});
  EXPECT_TRUE(client.handshake()) << client.failure();
  EXPECT_TRUE(client.ask("first"));
  EXPECT_FALSE(client.resumed());
  client.end_sending();
  return Session(client.session());
}

/// Whether a second connection resumes it; what it is told in `told`.
bool resumes(const TlsTestServer& server, const Resumption& how, SSL_SESSION* session,
             const TestIdentity* identity, std::string& told) {
  TlsTestClient client(
      server.port(),
      {.version = how.version, .identity = identity, .session = session, .tickets = how.tickets});
  EXPECT_TRUE(client.handshake()) << client.failure();
  told = client.ask("who").value_or("closed");
  return client.resumed();
}

TEST(TlsSession, is_resumed_with_tickets_and_ids_and_keeps_the_principal) {
  const TlsTestServer server(ClientAuth::required, tell_principal);
  for (const Resumption how : {Resumption{TLS1_3_VERSION, true}, Resumption{TLS1_2_VERSION, true},
                               Resumption{TLS1_2_VERSION, false}}) {
    const Session session = first_session(server, how, &alice());
    std::string told;
    EXPECT_TRUE(resumes(server, how, session.get(), &alice(), told)) << how.version << how.tickets;
    EXPECT_EQ(told, "User:CN=alice,O=example");
  }
}

TEST(TlsSession, outlives_a_new_certificate_of_the_server) {
  TlsTestServer server(ClientAuth::required, tell_principal);
  for (const int version : {TLS1_3_VERSION, TLS1_2_VERSION}) {
    const Resumption how{version, true};
    const Session session = first_session(server, how, &alice());
    auto settings = TlsTestServer::settings(ClientAuth::required);
    const TestIdentity renewed = TlsTestServer::authority().issue({{"CN", "server"}}, {.days = 60});
    settings.key_store.key = renewed.key_pem();
    settings.key_store.certificates = renewed.chain_pem();
    server.replace(settings);
    std::string told;
    EXPECT_TRUE(resumes(server, how, session.get(), &alice(), told)) << version;
    EXPECT_EQ(told, "User:CN=alice,O=example");
  }
}

TEST(TlsSession, ends_when_others_are_trusted) {
  TlsTestServer server(ClientAuth::required, tell_principal);
  for (const int version : {TLS1_3_VERSION, TLS1_2_VERSION}) {
    server.replace(TlsTestServer::settings(ClientAuth::required));
    const Resumption how{version, true};
    const Session session = first_session(server, how, &alice());
    auto settings = TlsTestServer::settings(ClientAuth::required);
    settings.trust_store.certificates = security::TestAuthority("other").certificate_pem();
    server.replace(settings);
    TlsTestClient client(server.port(), {.version = version, .identity = &alice(), .session = session.get()});
    EXPECT_FALSE(client.handshake() && client.ask("who").has_value()) << version;
  }
}

TEST(TlsSession, without_a_certificate_is_not_one_with) {
  TlsTestServer server(ClientAuth::none, tell_principal);
  const Resumption how{TLS1_3_VERSION, true};
  const Session session = first_session(server, how, nullptr);
  server.replace(TlsTestServer::settings(ClientAuth::required));
  TlsTestClient client(server.port(), {.session = session.get()});
  EXPECT_FALSE(client.handshake() && client.ask("who").has_value());
}

TEST(TlsReload, open_connections_go_on_and_new_ones_see_the_new_certificate) {
  TlsTestServer server;
  TlsTestClient before(server.port());
  ASSERT_TRUE(before.handshake()) << before.failure();
  auto settings = TlsTestServer::settings(ClientAuth::none);
  const TestIdentity renewed = TlsTestServer::authority().issue({{"CN", "renewed"}});
  settings.key_store.key = renewed.key_pem();
  settings.key_store.certificates = renewed.chain_pem();
  server.replace(settings);
  TlsTestClient after(server.port());
  ASSERT_TRUE(after.handshake()) << after.failure();
  EXPECT_EQ(before.peer_subject(), "CN=server");
  EXPECT_EQ(after.peer_subject(), "CN=renewed");
  EXPECT_EQ(before.ask("old"), "old");
  EXPECT_EQ(after.ask("new"), "new");
}

TEST(TlsReload, may_happen_while_clients_connect) {
  TlsTestServer server(ClientAuth::none);
  const auto one = server.load(TlsTestServer::settings(ClientAuth::none));
  const auto two = server.load(TlsTestServer::settings(ClientAuth::requested));
  std::atomic<bool> stop = false;
  std::thread reloading([&] {
    for (bool turn = false; !stop; turn = !turn) server.source->replace(turn ? one : two);
  });
  for (int i = 0; i < 30; ++i) {
    TlsTestClient client(server.port());
    EXPECT_TRUE(client.handshake()) << client.failure();
    EXPECT_EQ(client.ask(numbered(i)), numbered(i));
  }
  stop = true;
  reloading.join();
}

TEST(TlsHandshake, is_part_of_the_time_that_a_connection_takes) {
  std::atomic<std::chrono::nanoseconds> busy = 0ns;
  TlsTestServer server(ClientAuth::none, [&](IncomingRequest request) {
    busy = request.connection->busy_time;
    echo(std::move(request));
  });
  server.server->measures = true;
  TlsTestClient client(server.port());
  ASSERT_TRUE(client.handshake()) << client.failure();
  EXPECT_TRUE(client.ask("first"));
  EXPECT_GT(busy.load(), 0ns);
}

TEST(TlsHandshake, renegotiation_is_refused) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = TLS1_2_VERSION});
  ASSERT_TRUE(client.handshake()) << client.failure();
  if (SSL_renegotiate(client.native()) == 1) (void)client.handshake();
  EXPECT_FALSE(client.ask("after").has_value());
  EXPECT_EQ(server.server->started, 0);
}

}  // namespace
}  // namespace barnabas::network
