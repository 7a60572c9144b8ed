#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "network/network_fixture.h"
#include "security/test_certificates.h"
#include "security/tls_context.h"

struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

namespace barnabas::network {

/// A listener "SSL" on loopback with a server certificate of `authority`.
class TlsTestServer {
 public:
  explicit TlsTestServer(security::ClientAuth client_auth = security::ClientAuth::none,
                         TestServer::OnRequest on_request = echo, ServerLimits limits = {});
  /// With settings of the test's own.
  TlsTestServer(const security::TlsSettings& settings, TestServer::OnRequest on_request,
                ServerLimits limits = {});

  static const security::TestAuthority& authority();
  static security::TlsSettings settings(security::ClientAuth client_auth);
  std::shared_ptr<const security::TlsContext> load(const security::TlsSettings& settings) const;
  /// What a reload does.
  void replace(const security::TlsSettings& settings) { source->replace(load(settings)); }
  uint16_t port() const { return server->port(); }

  const std::shared_ptr<security::TicketKeys> tickets = std::make_shared<security::TicketKeys>();
  const std::shared_ptr<security::TlsContextSource> source;
  std::unique_ptr<TestServer> server;
};

struct TlsClientOptions {
  int version = 0;                                   ///< TLS1_2_VERSION …; 0: the best
  const security::TestIdentity* identity = nullptr;  ///< shown when asked for
  ssl_session_st* session = nullptr;                 ///< to be resumed
  bool tickets = true;
  std::size_t portion = SIZE_MAX;  ///< bytes that leave at once
  int receive_buffer_bytes = -1;
  void (*keep_secret)(const ssl_st*, const char* line) = nullptr;  ///< SSL_CTX_set_keylog_callback(3)
};

/// A blocking client of tests that speaks TLS, with every byte in the hands of the test.
class TlsTestClient {
 public:
  explicit TlsTestClient(uint16_t port, TlsClientOptions options = {});
  ~TlsTestClient();

  /// Whether it came to its end; why not: `failure`.
  bool handshake();
  const std::string& failure() const { return failure_; }
  void send(std::string_view request) { send_raw(framed(request)); }
  void send_raw(std::string_view bytes);
  /// The next answer without its size, nothing if the server closed.
  std::optional<std::string> receive();
  /// One request and its answer.
  std::optional<std::string> ask(std::string_view request);
  /// Whether the server ended its side in order, with close_notify, as the next thing.
  bool told_of_the_end();
  /// Tells the server so; answers may still come.
  void end_sending();
  bool resumed() const;
  /// To be freed by the caller; of TLS 1.3 only after something was received.
  ssl_session_st* session() const;
  std::string peer_subject() const;
  ssl_st* native() const { return ssl_; }
  TestClient& plain() { return plain_; }

 private:
  void flush_out();
  bool take_in();
  std::size_t read_some(char* into, std::size_t length);

  TestClient plain_;
  const TlsClientOptions options_;
  ssl_ctx_st* context_;
  ssl_st* ssl_;
  std::string failure_;
};

/// What is logged while it is there. One at a time.
class LogLines {
 public:
  LogLines();
  ~LogLines();
  /// Whether a line with this in it comes, waiting for it.
  static bool hold(std::string_view part);
  static std::size_t count(std::string_view part);
};

}  // namespace barnabas::network
