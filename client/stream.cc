#include "client/stream.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "security/openssl_support.h"

namespace barnabas::client {
namespace {

struct AddressFree {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, AddressFree>;

std::string shown(const HostPort& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return (ipv6 ? "[" + address.host + "]" : address.host) + ":" + address.port;
}

Result<Addresses> resolve(const HostPort& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0)
    return fail(ErrorKind::io, shown(address) + ": the name has no address (" + ::gai_strerror(error) +
                                   "); check it, or give an IP address");
  return Addresses(found);
}

bool is_ip_address(const std::string& host) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

std::string words_of(int error) {
  if (error == ECONNREFUSED)
    return "connection refused; nothing listens there: is the broker running, and is this its port?";
  return std::strerror(error);
}

}  // namespace

void Stream::Free::operator()(SSL* connection) const {
  SSL_free(connection);
}

Stream::Stream(Stream&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      peer_(std::move(other.peer_)),
      connection_(std::move(other.connection_)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(peer_, other.peer_);
  std::swap(connection_, other.connection_);
  return *this;
}

Stream::~Stream() {
  connection_.reset();
  if (socket_ >= 0) ::close(socket_);
}

Result<Stream> Stream::connect(const HostPort& address, const TlsClient* tls, Deadline deadline) {
  BARNABAS_ASSIGN(const Addresses addresses, resolve(address));
  auto failure = fail(ErrorKind::io, shown(address) + ": no address");
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    Stream stream(::socket(each->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), shown(address));
    if (stream.socket_ < 0) return stream.system_failure(errno);
    if (::connect(stream.socket_, each->ai_addr, each->ai_addrlen) != 0 && errno != EINPROGRESS) {
      failure = stream.system_failure(errno);
      continue;
    }
    if (auto connected = stream.wait_for(POLLOUT, deadline); !connected) {
      failure = std::unexpected<Error>(std::move(connected.error()));
      continue;
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(stream.socket_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      failure = stream.system_failure(error);
      continue;
    }
    const int on = 1;
    ::setsockopt(stream.socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (tls != nullptr) BARNABAS_TRY(stream.handshake(address, *tls, deadline));
    return stream;
  }
  return failure;
}

Result<void> Stream::handshake(const HostPort& address, const TlsClient& tls, Deadline deadline) {
  connection_.reset(SSL_new(tls.native()));
  if (!connection_ || SSL_set_fd(connection_.get(), socket_) != 1)
    return fail(ErrorKind::io, peer_ + ": " + security::openssl_reason("TLS"));
  const bool by_address = is_ip_address(address.host);
  // SSL_set_tlsext_host_name, without its cast.
  if (!by_address)
    SSL_ctrl(connection_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(address.host.c_str()));
  if (tls.verifies_host()) {
    auto* parameters = SSL_get0_param(connection_.get());
    const int set = by_address ? X509_VERIFY_PARAM_set1_ip_asc(parameters, address.host.c_str())
                               : X509_VERIFY_PARAM_set1_host(parameters, address.host.c_str(), 0);
    if (set != 1) return fail(ErrorKind::invalid, peer_ + ": cannot be looked for in a certificate");
  }
  for (int result = 0; (result = SSL_connect(connection_.get())) != 1;) BARNABAS_TRY(go_on(result, deadline));
  return {};
}

Result<void> Stream::go_on(int result, Deadline deadline) {
  const int system_error = errno;
  switch (SSL_get_error(connection_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return wait_for(POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE:
      return wait_for(POLLOUT, deadline);
    case SSL_ERROR_ZERO_RETURN:
      return fail(ErrorKind::closed, peer_ + ": the broker closed the connection");
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      if (system_error != 0 && system_error != ECONNRESET && system_error != EPIPE)
        return system_failure(system_error);
      return fail(ErrorKind::closed,
                  peer_ + ": the broker closed the connection" +
                      std::string(SSL_is_init_finished(connection_.get())
                                      ? ""
                                      : " during the TLS handshake; is this a TLS listener?"));
    default:
      break;
  }
  const long verified = SSL_get_verify_result(connection_.get());
  const std::string reason = security::openssl_reason("TLS failed");
  if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH)
    return fail(ErrorKind::invalid, peer_ +
                                        ": the broker's certificate is for another name; connect by a name "
                                        "that stands in it, or have it made for this one");
  if (verified != X509_V_OK)
    return fail(ErrorKind::invalid, peer_ + ": the broker's certificate is not trusted (" +
                                        X509_verify_cert_error_string(verified) +
                                        "); name its authority with --tls-ca FILE");
  if (SSL_is_init_finished(connection_.get()))
    return fail(ErrorKind::closed, peer_ + ": the broker closed the connection (" + reason + ")");
  return fail(ErrorKind::io, peer_ + ": the TLS handshake failed (" + reason + "); is this a TLS listener?");
}

Result<void> Stream::wait_for(short events, Deadline deadline) const {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd item{.fd = socket_, .events = events, .revents = 0};
    const int ready = ::poll(&item, 1, static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_failure(errno);
    if (ready == 0 && std::chrono::steady_clock::now() >= deadline)
      return fail(ErrorKind::timed_out, peer_ +
                                            ": no answer in time; is it the right address, and does it want "
                                            "TLS? A longer wait is --timeout SECONDS");
  }
}

std::unexpected<Error> Stream::system_failure(int error) const {
  return fail(ErrorKind::io, peer_ + ": " + words_of(error), error);
}

Result<void> Stream::write(ByteView bytes, Deadline deadline) {
  while (!bytes.empty()) {
    if (connection_) {
      std::size_t written = 0;
      const int result = SSL_write_ex(connection_.get(), bytes.data(), bytes.size(), &written);
      if (result != 1) BARNABAS_TRY(go_on(result, deadline));
      bytes = bytes.subspan(written);
      continue;
    }
    const ssize_t written = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      BARNABAS_TRY(wait_for(POLLOUT, deadline));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return fail(ErrorKind::closed, peer_ + ": the broker closed the connection");
    } else if (errno != EINTR) {
      return system_failure(errno);
    }
  }
  return {};
}

Result<void> Stream::read(MutableByteView bytes, Deadline deadline) {
  while (!bytes.empty()) {
    if (connection_) {
      std::size_t got = 0;
      const int result = SSL_read_ex(connection_.get(), bytes.data(), bytes.size(), &got);
      if (result != 1) BARNABAS_TRY(go_on(result, deadline));
      bytes = bytes.subspan(got);
      continue;
    }
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got == 0 || errno == ECONNRESET) {
      return fail(ErrorKind::closed, peer_ + ": the broker closed the connection");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      BARNABAS_TRY(wait_for(POLLIN, deadline));
    } else if (errno != EINTR) {
      return system_failure(errno);
    }
  }
  return {};
}

}  // namespace barnabas::client
