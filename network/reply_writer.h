#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "network/outgoing_frame.h"
#include "network/transport.h"

namespace barnabas::network {

/// The answers of one connection on their way to the socket. Memory goes out gathered, parts of files with
/// sendfile. It never waits for a device: when pages of a file are not in the page cache it says so, and the
/// owner has them read elsewhere and then calls warmed or supply.
class ReplyWriter {
 public:
  enum class Status : uint8_t {
    idle,       ///< all is sent
    again,      ///< the socket takes no more now
    cold,       ///< cold_piece() must be read first
    turn_over,  ///< enough for this turn, there is more
    failed,     ///< failure() says why; the connection is of no use any more
  };

  /// At most INT32_MAX bytes.
  void push(OutgoingFrame frame);
  bool empty() const { return first_ == queue_.size(); }
  /// Bytes pushed and not yet given to the socket.
  uint64_t backlog() const { return backlog_; }

  /// Sends until one of the states above; `turn_bytes` bounds what one connection may send at once.
  Status flush(Transport& transport, std::size_t turn_bytes);
  const std::string& failure() const { return failure_; }
  /// After Status::failed: a file, not the peer, is at fault.
  bool file_failed() const { return file_failed_; }

  struct ColdPiece {
    io::FileSlice slice;
    /// False: reading it so that it is in the page cache will do, then call warmed. True: call supply with
    /// its bytes.
    bool wants_bytes = false;
  };
  /// After Status::cold. Of bounded length.
  ColdPiece cold_piece(const Transport& transport) const;
  /// The next `length` bytes were read from the device just now.
  void warmed(uint64_t length);
  /// The next bytes of the file.
  void supply(std::unique_ptr<std::byte[]> bytes, std::size_t length);

 private:
  struct Item {
    std::array<std::byte, 4> size;
    uint8_t size_sent = 0;
    OutgoingFrame frame;
    std::size_t piece = 0;
    uint64_t sent_of_piece = 0;
  };
  static constexpr std::size_t gathered_max = 64;
  struct Gathered {
    std::array<iovec, gathered_max> pieces;
    std::size_t count = 0;
    std::size_t bytes = 0;
    bool more = false;  ///< part of a file follows
    void add(const std::byte* from, std::size_t length);
  };

  void gather(Gathered& into) const;
  bool gather_item(const Item& item, Gathered& into) const;
  Status write_memory(Transport& transport, const Gathered& gathered, std::size_t& moved);
  Status send_file_piece(Transport& transport, std::size_t& moved);
  Status send_supplied(Transport& transport, std::size_t& moved);
  Status fail(std::string why);
  const io::FileSlice* front_slice() const;
  void consume(std::size_t bytes);

  std::vector<Item> queue_;
  std::size_t first_ = 0;
  uint64_t backlog_ = 0;
  uint64_t warm_ = 0;  ///< bytes from here on known to be in the page cache
  std::unique_ptr<std::byte[]> supplied_;
  std::size_t supplied_size_ = 0;
  std::size_t supplied_sent_ = 0;
  std::string failure_;
  bool file_failed_ = false;
};

}  // namespace barnabas::network
