#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "network/transport.h"
#include "security/principal.h"

struct bio_st;
struct ssl_st;

namespace barnabas::security {
class TlsContext;
}

namespace barnabas::network {

/// What the TLS connections of a loop share, since one works at a time: room for bytes before and after they
/// are sealed. Nothing is in it between two calls.
struct TlsBuffers {
  /// Sealed and handed to the socket at once. What it does not take has to be kept, so this also bounds what
  /// a peer that does not read can hold.
  static constexpr std::size_t portion_bytes = 64 << 10;
  static constexpr std::size_t sealed_bytes = 2 * portion_bytes + (16 << 10);

  std::unique_ptr<std::byte[]> plain = std::make_unique_for_overwrite<std::byte[]>(portion_bytes);
  std::unique_ptr<std::byte[]> sealed = std::make_unique_for_overwrite<std::byte[]>(sealed_bytes);
  std::size_t sealed_used = 0;
};

/// TLS 1.2 and 1.3, the server's side, over a TCP socket that it does not own. OpenSSL works on memory; the
/// socket is asked here, with as few calls as there are portions. Files are read from the page cache and
/// sealed on the loop. Renegotiation is refused by the context.
class TlsTransport final : public Transport {
 public:
  TlsTransport(int socket, std::shared_ptr<const security::TlsContext> context, TlsBuffers& buffers);
  ~TlsTransport() override;

  enum class Handshake : uint8_t { done, needs_input, needs_room, failed };
  /// The next step of the handshake; may cost a millisecond or several of arithmetic. Before it is done
  /// nothing else may be called but failure, peer_has_spoken and set_read_ahead.
  Handshake handshake();
  /// After failed: what went wrong, for the log. What does not look like TLS is said to be that.
  const std::string& failure() const { return failure_; }
  bool peer_has_spoken() const { return first_count_ > 0; }
  /// After done: the principal that the peer's certificate stands for.
  Result<security::Principal> principal() const;

  IoOutcome read(std::span<const iovec> into) override;
  /// Takes all of it unless the socket is full; a rest that is sealed already is has_output.
  IoOutcome write(std::span<const iovec> from, bool more) override;
  bool can_send_files() const override { return true; }
  IoOutcome send_file(int file, uint64_t position, std::size_t length) override;
  bool has_output() const override { return pending_.size() > pending_sent_; }
  IoOutcome flush() override;
  bool has_input() const override { return after_.status != IoOutcome::Status::again; }
  /// A record is always taken whole, since it cannot be opened before: 16 KiB, and not more when not allowed.
  void set_read_ahead(bool allowed) override;
  /// At most TlsContext::read_buffer_bytes.
  std::size_t held_bytes() const override { return held_; }
  /// Opens the next record to see what is in it.
  bool peer_has_ended() override;
  void shut_down() override;

 private:
  friend struct TlsBio;
  int take_from_socket(char* into, int length, bool& retry);
  void count_held(std::size_t given);
  int keep_sealed(const char* from, int length);
  IoOutcome outcome_of(int result);
  bool seal(const std::byte* from, std::size_t length);
  /// Gives what was sealed to the socket, and keeps what does not go. False: the socket failed.
  bool send_sealed(bool more);
  IoOutcome failed() const { return {IoOutcome::Status::error, 0, system_error_}; }
  void describe_failure(int result);

  const int socket_;
  const std::shared_ptr<const security::TlsContext> context_;
  TlsBuffers& buffers_;
  ssl_st* ssl_;
  std::vector<std::byte> pending_;  ///< sealed; the socket was full
  std::size_t pending_sent_ = 0;
  /// How reading ended when it also gave bytes: reported with the next read. Again: it did not.
  IoOutcome after_{IoOutcome::Status::again, 0, 0};
  std::string failure_;
  int system_error_ = 0;
  bool broken_ = false;  ///< OpenSSL must not be asked any more
  bool done_ = false;    ///< the handshake
  bool eof_ = false;
  bool drained_ = false;   ///< the last look at the socket took all that was there; to be waited for
  std::size_t taken_ = 0;  ///< from the socket, in this call
  std::size_t held_ = 0;
  uint32_t key_updates_ = 0;  ///< since the peer's last application data
  uint8_t first_count_ = 0;
  char first_[8] = {};  ///< what the peer began with
};

}  // namespace barnabas::network
