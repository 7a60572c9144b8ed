#include "network/tls_fixture.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/endian.h"
#include "base/log.h"

namespace barnabas::network {

namespace {

std::mutex lines_mutex;
std::vector<std::string> lines;

void keep_line(LogLevel, std::string_view, std::string_view text) {
  const std::lock_guard lock(lines_mutex);
  lines.emplace_back(text);
}

}  // namespace

const security::TestAuthority& TlsTestServer::authority() {
  static const security::TestAuthority made;
  return made;
}

security::TlsSettings TlsTestServer::settings(security::ClientAuth client_auth) {
  static const security::TestIdentity identity =
      authority().issue({{"CN", "server"}}, {.alternative_names = "DNS:localhost,IP:127.0.0.1"});
  security::TlsSettings settings = security::inline_settings(identity);
  settings.client_auth = client_auth;
  settings.trust_store.certificates = authority().certificate_pem();
  return settings;
}

std::shared_ptr<const security::TlsContext> TlsTestServer::load(const security::TlsSettings& settings) const {
  auto context = security::TlsContext::load(settings, tickets);
  EXPECT_TRUE(context) << context.error().message;
  return *context;
}

TlsTestServer::TlsTestServer(security::ClientAuth client_auth, TestServer::OnRequest on_request,
                             ServerLimits limits)
    : TlsTestServer(settings(client_auth), std::move(on_request), std::move(limits)) {}

TlsTestServer::TlsTestServer(const security::TlsSettings& settings, TestServer::OnRequest on_request,
                             ServerLimits limits)
    : source(std::make_shared<security::TlsContextSource>(load(settings))),
      server(std::make_unique<TestServer>(std::move(limits), std::move(on_request), 2,
                                          ListenerConfig{.name = "SSL",
                                                         .security_protocol = SecurityProtocol::ssl,
                                                         .host = "127.0.0.1",
                                                         .tls = source})) {}

TlsTestClient::TlsTestClient(uint16_t port, TlsClientOptions options)
    : plain_(port, options.receive_buffer_bytes),
      options_(options),
      context_(SSL_CTX_new(TLS_client_method())) {
  if (options.version != 0) {
    SSL_CTX_set_min_proto_version(context_, options.version);
    SSL_CTX_set_max_proto_version(context_, options.version);
  }
  if (!options.tickets) SSL_CTX_set_options(context_, SSL_OP_NO_TICKET);
  SSL_CTX_set_keylog_callback(context_, options.keep_secret);
  // A context that goes would make useless what it stored.
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), TlsTestServer::authority().own().certificate.get());
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  if (options.identity != nullptr) {
    EXPECT_EQ(SSL_CTX_use_cert_and_key(context_, options.identity->certificate.get(),
                                       options.identity->key.get(), nullptr, 1),
              1);
  }
  ssl_ = SSL_new(context_);
  SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  BIO_set_mem_eof_return(SSL_get_rbio(ssl_), -1);
  if (options.session != nullptr) SSL_set_session(ssl_, options.session);
  SSL_set_connect_state(ssl_);
}

TlsTestClient::~TlsTestClient() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

void TlsTestClient::flush_out() {
  char* bytes = nullptr;
  const auto size = static_cast<std::size_t>(BIO_get_mem_data(SSL_get_wbio(ssl_), &bytes));
  std::string out(bytes, size);
  (void)BIO_reset(SSL_get_wbio(ssl_));
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t part = std::min(options_.portion, out.size() - at);
    plain_.send_raw(std::string_view(out).substr(at, part));
    at += part;
  }
}

bool TlsTestClient::take_in() {
  pollfd wait{plain_.socket(), POLLIN, 0};
  if (::poll(&wait, 1, 20'000) <= 0) {
    ADD_FAILURE() << "nothing from the server in time";
    return false;
  }
  char buffer[64 << 10];
  const ssize_t got = ::recv(plain_.socket(), buffer, sizeof buffer, 0);
  if (got <= 0) return false;
  BIO_write(SSL_get_rbio(ssl_), buffer, static_cast<int>(got));
  return true;
}

bool TlsTestClient::handshake() {
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    const int error = SSL_get_error(ssl_, result);
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    flush_out();
    if (result == 1) return true;
    if (error != SSL_ERROR_WANT_READ) {
      failure_ = reason != nullptr ? reason : "protocol error";
      return false;
    }
    if (!take_in()) {
      failure_ = "closed";
      return false;
    }
  }
}

void TlsTestClient::send_raw(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto part = std::min<std::size_t>(bytes.size(), 16 << 10);
    if (SSL_write(ssl_, bytes.data(), static_cast<int>(part)) <= 0) return;
    flush_out();
    bytes.remove_prefix(part);
  }
}

std::size_t TlsTestClient::read_some(char* into, std::size_t length) {
  for (;;) {
    std::size_t got = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_, into, length, &got);
    if (result == 1) return got;
    const int error = SSL_get_error(ssl_, result);
    flush_out();
    if (error != SSL_ERROR_WANT_READ || !take_in()) return 0;
  }
}

std::optional<std::string> TlsTestClient::receive() {
  std::string size(4, '\0');
  for (std::size_t at = 0; at < 4;) {
    const std::size_t got = read_some(size.data() + at, 4 - at);
    if (got == 0) return std::nullopt;
    at += got;
  }
  std::string body(load_big_endian<uint32_t>(as_byte_view(size).data()), '\0');
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t got = read_some(body.data() + at, body.size() - at);
    if (got == 0) return std::nullopt;
    at += got;
  }
  return body;
}

std::optional<std::string> TlsTestClient::ask(std::string_view request) {
  send(request);
  return receive();
}

bool TlsTestClient::told_of_the_end() {
  char byte;
  if (read_some(&byte, 1) != 0) return false;
  return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
}

void TlsTestClient::end_sending() {
  (void)SSL_shutdown(ssl_);
  flush_out();
}

bool TlsTestClient::resumed() const {
  return SSL_session_reused(ssl_) == 1;
}

ssl_session_st* TlsTestClient::session() const {
  return SSL_get1_session(ssl_);
}

std::string TlsTestClient::peer_subject() const {
  const X509* certificate = SSL_get0_peer_certificate(ssl_);
  return certificate == nullptr ? "" : security::subject_of(certificate);
}

LogLines::LogLines() {
  const std::lock_guard lock(lines_mutex);
  lines.clear();
  set_log_sink(keep_line);
}

LogLines::~LogLines() {
  set_log_sink(nullptr);
}

std::size_t LogLines::count(std::string_view part) {
  const std::lock_guard lock(lines_mutex);
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.find(part) != line.npos; }));
}

bool LogLines::hold(std::string_view part) {
  return eventually([part] { return count(part) > 0; });
}

}  // namespace barnabas::network
