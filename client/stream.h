#pragma once

#include <openssl/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/types.h"
#include "client/connection_settings.h"
#include "client/tls_client.h"

namespace barnabas::client {

using Deadline = std::chrono::steady_clock::time_point;

/// A connected socket, with TLS or without, for one thread that waits. Expects that SIGPIPE is ignored.
class Stream {
 public:
  /// Tries all addresses of the name. Errors are one line that begins with the address and says what to do:
  /// ErrorKind::io for what may be tried elsewhere, invalid for what will be the same there (a certificate
  /// that is not trusted). `tls`: null for none; it must outlive the stream.
  static Result<Stream> connect(const HostPort& address, const TlsClient* tls, Deadline deadline);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  Result<void> write(ByteView bytes, Deadline deadline);
  /// Fills all of it. ErrorKind::closed when the peer ended the connection.
  Result<void> read(MutableByteView bytes, Deadline deadline);
  /// "host:port"
  const std::string& peer() const { return peer_; }

 private:
  struct Free {
    void operator()(SSL* connection) const;
  };
  Stream(int socket, std::string peer) : socket_(socket), peer_(std::move(peer)) {}
  Result<void> handshake(const HostPort& address, const TlsClient& tls, Deadline deadline);
  Result<void> wait_for(short events, Deadline deadline) const;
  /// After a call of OpenSSL that has not succeeded: waits if it only has to be repeated.
  Result<void> go_on(int result, Deadline deadline);
  std::unexpected<Error> system_failure(int error) const;

  int socket_;
  std::string peer_;
  std::unique_ptr<SSL, Free> connection_;
};

}  // namespace barnabas::client
