#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "protocol/compression/codec.h"

namespace barnabas::protocol {

/// Decompresses one input, piece by piece. Memory is bounded whatever the input claims: gzip 50 KB, lz4 12
/// MB, snappy 5 MB, zstd the frame's window (at most 128 MB, what Kafka's readers take; usual levels need 2
/// to 8 MB).
///
/// What is accepted is what Kafka's Java clients can read:
///  - gzip: several members in a row; bytes behind the last member that are no member are ignored.
///  - snappy: Java's framing ("xerial", also concatenated) or one raw block without any header.
///  - lz4: one frame of independent blocks; bytes behind it are ignored. Unlike Java, the content checksum is
///  checked.
///  - zstd: frames in a row, also skippable ones.
///
/// Not for several threads at once. Errors: ErrorKind::corrupt; after one the stream is not to be read again.
class Decompressor {
 public:
  virtual ~Decompressor() = default;

  /// Starts anew. `input` must outlive the reads.
  virtual void reset(ByteView input) = 0;

  /// Fills `into` (not empty) from the front and returns how much; 0 only at the end of the content.
  virtual Result<size_t> read(MutableByteView into) = 0;

  /// What the object holds, for deciding whether it is worth keeping.
  virtual size_t memory_bytes() const = 0;
};

/// A decompressor borrowed from the thread's own stock and given back at the end: the objects are expensive
/// to make. Codec::none gives the input back unchanged.
class DecompressionStream {
 public:
  DecompressionStream(Codec codec, ByteView input);
  DecompressionStream(DecompressionStream&&) noexcept = default;
  DecompressionStream& operator=(DecompressionStream&& other) noexcept;
  ~DecompressionStream();

  Result<size_t> read(MutableByteView into) { return decompressor_->read(into); }

 private:
  Codec codec_;
  std::unique_ptr<Decompressor> decompressor_;
};

/// Everything at once; ErrorKind::too_large when the content is longer than `limit`.
Result<std::vector<std::byte>> decompress(Codec codec, ByteView input, size_t limit);

}  // namespace barnabas::protocol
