#pragma once

#include <memory>

#include "base/result.h"
#include "base/types.h"

namespace barnabas::protocol {

/// Decodes one raw snappy block piece by piece, for blocks whose content is too large to be held at once.
/// Looks back at most 2 MiB (the format allows 4 GiB; every known encoder works on 64 KiB pieces); a block
/// that looks back further is ErrorKind::corrupt. Format: google/snappy, format_description.txt.
class SnappyBlockDecoder {
 public:
  static constexpr size_t window_bytes = 2 << 20;

  /// `elements` is the block behind its length, which says `content_bytes`. Must outlive the reads.
  void reset(ByteView elements, uint64_t content_bytes);
  /// As Decompressor::read.
  Result<size_t> read(MutableByteView into);
  size_t memory_bytes() const { return buffer_ ? buffer_bytes : 0; }

 private:
  static constexpr size_t buffer_bytes = 2 * window_bytes;
  Result<void> decode_some();
  Result<void> take_tag();
  void make_room();

  ByteView rest_;
  uint64_t content_left_ = 0;
  std::unique_ptr<std::byte[]> buffer_;  // the window, and behind it what is not handed out yet
  size_t decoded_ = 0;
  size_t handed_out_ = 0;
  size_t literal_left_ = 0;
};

/// The length in front of a raw block; removes it from `block`. ErrorKind::corrupt.
Result<uint32_t> take_snappy_content_length(ByteView& block);

}  // namespace barnabas::protocol
