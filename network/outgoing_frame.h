#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "base/types.h"
#include "io/disk.h"

namespace barnabas::network {

/// Bytes in memory with whatever keeps them alive.
struct MemoryPiece {
  std::shared_ptr<const void> owner;
  ByteView bytes;
};

/// An answer: bytes in memory and parts of files, sent one after the other. The 4 bytes of size in front are
/// put there by the connection. Holds its files open and its memory until it is sent.
class OutgoingFrame {
 public:
  using Piece = std::variant<MemoryPiece, io::FileSlice>;
  using Pieces = boost::container::small_vector<Piece, 1>;

  OutgoingFrame() = default;
  explicit OutgoingFrame(std::vector<std::byte> bytes) { add(std::move(bytes)); }

  /// `owner` keeps `bytes` alive and unchanged.
  void add(std::shared_ptr<const void> owner, ByteView bytes);
  void add(std::vector<std::byte> bytes);
  void add(io::FileSlice slice);

  const Pieces& pieces() const { return pieces_; }
  /// Bytes on the wire without the size in front.
  uint64_t size() const { return size_; }

 private:
  friend class ReplyWriter;
  Pieces pieces_;
  uint64_t size_ = 0;
};

}  // namespace barnabas::network
