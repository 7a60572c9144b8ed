#pragma once

#include <memory>
#include <vector>

#include "base/types.h"
#include "protocol/compression/codec.h"

namespace barnabas::protocol {

/// Compresses one output, piece by piece, in the framing that Kafka's Java clients write: gzip as one member,
/// snappy in Java's framing with chunks of 32 KiB, lz4 as a frame of independent 64 KiB blocks, zstd as one
/// frame. Compressing cannot fail but for lack of memory. Not for several threads at once.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// Starts anew, with the level in force from here on.
  virtual void reset(std::optional<int> level) = 0;
  /// Appends to `out` what comes out; some of the input may stay inside until finish().
  virtual void write(ByteView input, std::vector<std::byte>& out) = 0;
  /// Ends the stream.
  virtual void finish(std::vector<std::byte>& out) = 0;
};

/// A compressor borrowed from the thread's own stock. Codec::none copies.
class CompressionStream {
 public:
  explicit CompressionStream(Compression compression);
  CompressionStream(CompressionStream&&) noexcept = default;
  CompressionStream& operator=(CompressionStream&& other) noexcept;
  ~CompressionStream();

  void write(ByteView input, std::vector<std::byte>& out) { compressor_->write(input, out); }
  void finish(std::vector<std::byte>& out) { compressor_->finish(out); }

 private:
  Codec codec_;
  std::unique_ptr<Compressor> compressor_;
};

std::vector<std::byte> compress(Compression compression, ByteView input);

}  // namespace barnabas::protocol
