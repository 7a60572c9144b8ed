#include "network/tls_transport.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "security/tls_context.h"

namespace barnabas::network {

namespace {

/// Smaller pieces are gathered into one record, since each costs as much as a kilobyte.
constexpr std::size_t record_bytes = 16 << 10;
/// What one call of write seals before others get their turn.
constexpr std::size_t write_bytes_max = 1 << 20;
/// The same for read and what it takes from the socket, whether it gives bytes or not.
constexpr std::size_t read_bytes_max = 1 << 20;
/// New keys cost arithmetic and bring nothing: so many are taken from a peer that says nothing else.
constexpr uint32_t key_updates_max = 32;

IoOutcome done(std::size_t bytes) {
  return {IoOutcome::Status::done, bytes, 0};
}

}  // namespace

/// OpenSSL's view of the transport: it reads from the socket and writes into memory.
struct TlsBio {
  static TlsTransport& of(BIO* bio) { return *static_cast<TlsTransport*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* into, int length) {
    bool retry = false;
    BIO_clear_retry_flags(bio);
    const int got = of(bio).take_from_socket(into, length, retry);
    if (retry) BIO_set_retry_read(bio);
    return got;
  }
  static int write(BIO* bio, const char* from, int length) {
    BIO_clear_retry_flags(bio);
    return of(bio).keep_sealed(from, length);
  }
  static long control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP) return 1;
    if (command == BIO_CTRL_EOF) return of(bio).eof_ ? 1 : 0;
    return 0;
  }
  static const BIO_METHOD* method() {
    static const BIO_METHOD* const made = [] {
      BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "connection");
      BARNABAS_ASSERT(method != nullptr);
      BIO_meth_set_read(method, read);
      BIO_meth_set_write(method, write);
      BIO_meth_set_ctrl(method, control);
      return method;
    }();
    return made;
  }
};

TlsTransport::TlsTransport(int socket, std::shared_ptr<const security::TlsContext> context,
                           TlsBuffers& buffers)
    : socket_(socket), context_(std::move(context)), buffers_(buffers), ssl_(SSL_new(context_->native())) {
  BIO* bio = BIO_new(TlsBio::method());
  if (ssl_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    broken_ = true;
    failure_ = "no memory for TLS";
    return;
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_accept_state(ssl_);
  SSL_set_msg_callback(ssl_,
                       [](int write, int, int type, const void* bytes, std::size_t size, SSL*, void* of) {
                         const bool handshake = write == 0 && type == SSL3_RT_HANDSHAKE && size > 0;
                         if (handshake && *static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE)
                           ++static_cast<TlsTransport*>(of)->key_updates_;
                       });
  SSL_set_msg_callback_arg(ssl_, this);
}

TlsTransport::~TlsTransport() {
  SSL_free(ssl_);
}

int TlsTransport::take_from_socket(char* into, int length, bool& retry) {
  if (drained_ || taken_ >= read_bytes_max) {
    retry = true;
    return -1;
  }
  if (key_updates_ > key_updates_max) {
    system_error_ = EPROTO;
    return -1;
  }
  ssize_t got;
  do {
    got = ::recv(socket_, into, static_cast<std::size_t>(length), 0);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    drained_ = got < length;
    taken_ += static_cast<std::size_t>(got);
    const auto kept = std::min<std::size_t>(sizeof first_ - first_count_, static_cast<std::size_t>(got));
    std::memcpy(first_ + first_count_, into, kept);
    first_count_ = static_cast<uint8_t>(first_count_ + kept);
    return static_cast<int>(got);
  }
  if (got == 0) {
    eof_ = true;
    return 0;
  }
  retry = errno == EAGAIN || errno == EWOULDBLOCK;
  if (!retry) system_error_ = errno;
  return -1;
}

int TlsTransport::keep_sealed(const char* from, int length) {
  const auto size = static_cast<std::size_t>(length);
  // Only a peer that asks for ever new keys and reads nothing gets here.
  if (size > TlsBuffers::sealed_bytes - buffers_.sealed_used) return -1;
  std::memcpy(buffers_.sealed.get() + buffers_.sealed_used, from, size);
  buffers_.sealed_used += size;
  return length;
}

bool TlsTransport::send_sealed(bool more) {
  const std::byte* from = buffers_.sealed.get();
  std::size_t left = std::exchange(buffers_.sealed_used, 0);
  if (has_output()) flush();
  while (left > 0 && !has_output() && system_error_ == 0) {
    const ssize_t sent = ::send(socket_, from, left, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) system_error_ = errno;
    if (sent < 0) break;
    from += sent;
    left -= static_cast<std::size_t>(sent);
  }
  if (left > 0 && system_error_ == 0) pending_.insert(pending_.end(), from, from + left);
  return system_error_ == 0;
}

IoOutcome TlsTransport::flush() {
  const std::size_t before = pending_sent_;
  while (has_output()) {
    const ssize_t sent =
        ::send(socket_, pending_.data() + pending_sent_, pending_.size() - pending_sent_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK)
        return {IoOutcome::Status::again, pending_sent_ - before, 0};
      system_error_ = errno;
      return failed();
    }
    pending_sent_ += static_cast<std::size_t>(sent);
  }
  const std::size_t sent = pending_sent_ - before;
  std::vector<std::byte>().swap(pending_);
  pending_sent_ = 0;
  return done(sent);
}

TlsTransport::Handshake TlsTransport::handshake() {
  BARNABAS_ASSERT(buffers_.sealed_used == 0);
  if (broken_) return Handshake::failed;
  drained_ = false;
  taken_ = 0;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  const int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_, result);
  if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ) {
    describe_failure(error);
    broken_ = true;
    (void)send_sealed(false);  // the alert that tells the peer
    ERR_clear_error();
    return Handshake::failed;
  }
  if (!send_sealed(false)) {
    failure_ = std::strerror(system_error_);
    broken_ = true;
    return Handshake::failed;
  }
  if (error == SSL_ERROR_NONE) {
    done_ = true;
    count_held(0);
    return Handshake::done;
  }
  return has_output() ? Handshake::needs_room : Handshake::needs_input;
}

void TlsTransport::describe_failure(int error) {
  const std::string_view first(first_, first_count_);
  if (first_count_ == 0) {
    failure_ = "peer closed before it began with TLS";
    if (system_error_ != 0) failure_ = std::strerror(system_error_);
  } else if (first[0] != '\x16') {
    const bool http = first.starts_with("GET ") || first.starts_with("POST") || first.starts_with("PUT ") ||
                      first.starts_with("HEAD") || first.starts_with("PRI ");
    const bool kafka = first.size() >= 2 && first[0] == 0 && first[1] == 0;
    failure_ = "not TLS, but plaintext on a TLS listener" +
               std::string(http    ? " (an HTTP client?)"
                           : kafka ? " (a client with security.protocol=PLAINTEXT or SASL_PLAINTEXT?)"
                                   : "") +
               ", sent " + log_text(first);
  } else if (error == SSL_ERROR_SYSCALL && system_error_ != 0) {
    failure_ = std::string("during the TLS handshake: ") + std::strerror(system_error_);
  } else if (eof_) {
    failure_ = "peer closed during the TLS handshake";
  } else {
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    failure_ = std::string("TLS handshake failed: ") + (reason != nullptr ? reason : "protocol error");
    if (const long verified = SSL_get_verify_result(ssl_); verified != X509_V_OK)
      failure_ += std::string(" (") + X509_verify_cert_error_string(verified) + ")";
  }
}

Result<security::Principal> TlsTransport::principal() const {
  return context_->principal_of(ssl_);
}

/// What reading that gave nothing, or sealing that failed, means.
IoOutcome TlsTransport::outcome_of(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return {IoOutcome::Status::again, 0, 0};
    case SSL_ERROR_ZERO_RETURN:
      return {IoOutcome::Status::end, 0, 0};
    default:
      broken_ = true;
      if (system_error_ == 0) system_error_ = EPROTO;
      ERR_clear_error();
      return failed();
  }
}

IoOutcome TlsTransport::read(std::span<const iovec> into) {
  BARNABAS_ASSERT(buffers_.sealed_used == 0);
  if (has_input()) {
    if (after_.status == IoOutcome::Status::end) return after_;  // for ever
    return std::exchange(after_, {IoOutcome::Status::again, 0, 0});
  }
  if (broken_) return failed();
  drained_ = false;
  taken_ = 0;
  std::size_t total = 0;
  IoOutcome end{IoOutcome::Status::done, 0, 0};
  for (const iovec& piece : into) {
    auto* at = static_cast<std::byte*>(piece.iov_base);
    for (std::size_t left = piece.iov_len; left > 0 && end.status == IoOutcome::Status::done;) {
      std::size_t got = 0;
      ERR_clear_error();
      if (const int result = SSL_read_ex(ssl_, at, left, &got); result != 1) end = outcome_of(result);
      at += got;
      left -= got;
      total += got;
    }
  }
  if (buffers_.sealed_used > 0) (void)send_sealed(false);  // an alert, or new keys
  count_held(total);
  if (total == 0) return end;
  key_updates_ = 0;
  if (end.status != IoOutcome::Status::done) after_ = end;
  return done(total);
}

bool TlsTransport::peer_has_ended() {
  BARNABAS_ASSERT(buffers_.sealed_used == 0);
  if (broken_ || has_input()) return true;
  drained_ = false;
  taken_ = 0;
  set_read_ahead(false);
  ERR_clear_error();
  std::byte next;
  std::size_t got = 0;
  IoOutcome end{IoOutcome::Status::again, 0, 0};
  if (const int result = SSL_peek_ex(ssl_, &next, 1, &got); result != 1) end = outcome_of(result);
  if (buffers_.sealed_used > 0) (void)send_sealed(false);  // an alert, or new keys
  count_held(0);
  after_ = end;
  return has_input();
}

void TlsTransport::set_read_ahead(bool allowed) {
  if (ssl_ != nullptr) SSL_set_read_ahead(ssl_, allowed ? 1 : 0);
}

/// After a call that took `taken_` bytes. What sealing adds to the bytes is counted with them, since only
/// OpenSSL knows how much that is, until nothing is left.
void TlsTransport::count_held(std::size_t given) {
  if (broken_ || SSL_has_pending(ssl_) == 0) {
    held_ = 0;
    return;
  }
  held_ += taken_;
  held_ = std::min(held_ - std::min(held_, given), security::TlsContext::read_buffer_bytes);
}

bool TlsTransport::seal(const std::byte* from, std::size_t length) {
  std::size_t sealed = 0;
  ERR_clear_error();
  const int result = SSL_write_ex(ssl_, from, length, &sealed);
  if (result == 1 && sealed == length) return true;
  // What is sealed so far, an alert for one, is this peer's and must not stay for the next one.
  (void)send_sealed(false);
  (void)outcome_of(result);
  broken_ = true;
  if (system_error_ == 0) system_error_ = EPROTO;
  return false;
}

IoOutcome TlsTransport::write(std::span<const iovec> from, bool more) {
  BARNABAS_ASSERT(buffers_.sealed_used == 0);
  if (broken_) return failed();
  if (has_output()) {
    if (const IoOutcome flushed = flush(); flushed.status != IoOutcome::Status::done)
      return {flushed.status, 0, flushed.system_error};
  }
  std::size_t total = 0;
  std::size_t piece = 0;
  std::size_t at = 0;  // in the piece
  while (piece < from.size() && !has_output() && total < write_bytes_max) {
    const auto* bytes = static_cast<const std::byte*>(from[piece].iov_base) + at;
    std::size_t length = std::min(from[piece].iov_len - at, TlsBuffers::portion_bytes);
    if (length >= record_bytes) {
      at += length;
    } else {
      bytes = buffers_.plain.get();
      length = 0;
      while (piece < from.size() && length < record_bytes) {
        const std::size_t part = std::min(from[piece].iov_len - at, record_bytes - length);
        if (part > 0)
          std::memcpy(buffers_.plain.get() + length, static_cast<const std::byte*>(from[piece].iov_base) + at,
                      part);
        length += part;
        at += part;
        if (at < from[piece].iov_len) break;
        ++piece;
        at = 0;
      }
    }
    if (length > 0 && !seal(bytes, length)) return failed();
    total += length;
    while (piece < from.size() && at == from[piece].iov_len) {
      ++piece;
      at = 0;
    }
    const bool last = piece == from.size();
    if ((last || buffers_.sealed_used >= TlsBuffers::portion_bytes) && !send_sealed(more || !last))
      return failed();
  }
  if (buffers_.sealed_used > 0 && !send_sealed(true)) return failed();
  return total > 0 ? done(total) : IoOutcome{IoOutcome::Status::again, 0, 0};
}

IoOutcome TlsTransport::send_file(int file, uint64_t position, std::size_t length) {
  BARNABAS_ASSERT(buffers_.sealed_used == 0);
  if (broken_) return failed();
  if (has_output()) {
    if (const IoOutcome flushed = flush(); flushed.status != IoOutcome::Status::done)
      return {flushed.status, 0, flushed.system_error};
  }
  const std::size_t wanted = std::min(length, TlsBuffers::portion_bytes);
  ssize_t got;
  do {
    got = ::pread(file, buffers_.plain.get(), wanted, static_cast<off_t>(position));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return {IoOutcome::Status::error, 0, errno};
  if (got == 0) return {IoOutcome::Status::end, 0, 0};
  const auto size = static_cast<std::size_t>(got);
  if (!seal(buffers_.plain.get(), size) || !send_sealed(size < length)) return failed();
  return done(size);
}

void TlsTransport::shut_down() {
  if (broken_ || !done_) return;
  ERR_clear_error();
  (void)SSL_shutdown(ssl_);
  ERR_clear_error();
  (void)send_sealed(false);
}

}  // namespace barnabas::network
