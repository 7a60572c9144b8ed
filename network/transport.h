#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace barnabas::network {

/// What one non-blocking call did.
struct IoOutcome {
  enum class Status : uint8_t {
    done,   ///< `bytes` above 0 were moved
    again,  ///< nothing now; wait for the socket
    end,    ///< the peer will send no more
    error,  ///< `system_error` has errno
  };
  Status status = Status::done;
  std::size_t bytes = 0;
  int system_error = 0;
};

/// The calls through which a connection moves bytes: the socket itself, or an encrypting layer over it. Never
/// blocks on the peer. Used on one thread at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual IoOutcome read(std::span<const iovec> into) = 0;
  /// `more`: other bytes follow at once, so a packet that is not full may wait for them.
  virtual IoOutcome write(std::span<const iovec> from, bool more) = 0;
  /// Whether send_file works; otherwise parts of files are read into memory and written.
  virtual bool can_send_files() const = 0;
  virtual IoOutcome send_file(int file, uint64_t position, std::size_t length) = 0;

  /// Bytes that a write or send_file took are still to be given to the socket, by flush when it has room.
  virtual bool has_output() const { return false; }
  /// Done: none is left. Again also may have moved some.
  virtual IoOutcome flush() { return {}; }
  /// A read has something to say although the socket has not.
  virtual bool has_input() const { return false; }
  /// Whether a read may take more from the socket than it gives, which it may at first.
  virtual void set_read_ahead(bool allowed) { (void)allowed; }
  /// Memory of bytes that were taken from the socket and not given to anybody yet.
  virtual std::size_t held_bytes() const { return 0; }
  /// Whether the peer sends no more, or cannot, and all that it sent was read. Gives no bytes away, but may
  /// take some from the socket: so much as `held_bytes` then says.
  virtual bool peer_has_ended() = 0;
  /// Tells the peer that no more is sent, as far as the socket takes it at once. Nothing else is called
  /// afterwards.
  virtual void shut_down() {}
};

/// A TCP socket as it is. Does not own the descriptor.
class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(int socket) : socket_(socket) {}
  IoOutcome read(std::span<const iovec> into) override;
  IoOutcome write(std::span<const iovec> from, bool more) override;
  bool can_send_files() const override { return true; }
  bool peer_has_ended() override;
  /// Status end: the file is shorter.
  IoOutcome send_file(int file, uint64_t position, std::size_t length) override;

 private:
  int socket_;
};

}  // namespace barnabas::network
