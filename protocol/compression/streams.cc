#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.h"
#include "protocol/compression/codecs.h"

namespace barnabas::protocol {
namespace {

// A context that grew beyond this (a zstd frame with a huge window) is freed rather than kept.
constexpr size_t kept_bytes_max = 16 << 20;

class Copying final : public Decompressor {
 public:
  void reset(ByteView input) override { rest_ = input; }
  Result<size_t> read(MutableByteView into) override {
    const size_t size = std::min(into.size(), rest_.size());
    std::copy_n(rest_.begin(), size, into.begin());
    rest_ = rest_.subspan(size);
    return size;
  }
  size_t memory_bytes() const override { return 0; }

 private:
  ByteView rest_;
};

class Appending final : public Compressor {
 public:
  void reset(std::optional<int>) override {}
  void write(ByteView input, std::vector<std::byte>& out) override {
    out.insert(out.end(), input.begin(), input.end());
  }
  void finish(std::vector<std::byte>&) override {}
};

std::unique_ptr<Decompressor> make_decompressor(Codec codec) {
  switch (codec) {
    case Codec::none:
      return std::make_unique<Copying>();
    case Codec::gzip:
      return make_gzip_decompressor();
    case Codec::snappy:
      return make_snappy_decompressor();
    case Codec::lz4:
      return make_lz4_decompressor();
    case Codec::zstd:
      return make_zstd_decompressor();
  }
  BARNABAS_ASSERT(false);
  return nullptr;
}

std::unique_ptr<Compressor> make_compressor(Codec codec) {
  switch (codec) {
    case Codec::none:
      return std::make_unique<Appending>();
    case Codec::gzip:
      return make_gzip_compressor();
    case Codec::snappy:
      return make_snappy_compressor();
    case Codec::lz4:
      return make_lz4_compressor();
    case Codec::zstd:
      return make_zstd_compressor();
  }
  BARNABAS_ASSERT(false);
  return nullptr;
}

// One spare object for each codec and thread; who needs a second one at the same time makes it.
thread_local std::array<std::unique_ptr<Decompressor>, codec_count> spare_decompressors;
thread_local std::array<std::unique_ptr<Compressor>, codec_count> spare_compressors;

}  // namespace

DecompressionStream::DecompressionStream(Codec codec, ByteView input) : codec_(codec) {
  decompressor_ = std::move(spare_decompressors[static_cast<size_t>(codec)]);
  if (!decompressor_) decompressor_ = make_decompressor(codec);
  decompressor_->reset(input);
}

DecompressionStream& DecompressionStream::operator=(DecompressionStream&& other) noexcept {
  std::swap(codec_, other.codec_);
  std::swap(decompressor_, other.decompressor_);
  return *this;
}

DecompressionStream::~DecompressionStream() {
  if (!decompressor_ || decompressor_->memory_bytes() > kept_bytes_max) return;
  spare_decompressors[static_cast<size_t>(codec_)] = std::move(decompressor_);
}

CompressionStream::CompressionStream(Compression compression) : codec_(compression.codec) {
  compressor_ = std::move(spare_compressors[static_cast<size_t>(codec_)]);
  if (!compressor_) compressor_ = make_compressor(codec_);
  compressor_->reset(compression.level);
}

CompressionStream& CompressionStream::operator=(CompressionStream&& other) noexcept {
  std::swap(codec_, other.codec_);
  std::swap(compressor_, other.compressor_);
  return *this;
}

CompressionStream::~CompressionStream() {
  if (compressor_) spare_compressors[static_cast<size_t>(codec_)] = std::move(compressor_);
}

Result<std::vector<std::byte>> decompress(Codec codec, ByteView input, size_t limit) {
  DecompressionStream stream(codec, input);
  std::vector<std::byte> content;
  size_t size = 0;
  for (;;) {
    if (size == content.size()) content.resize(std::max<size_t>(64 * 1024, 2 * size));
    BARNABAS_ASSIGN(const size_t piece, stream.read(MutableByteView(content).subspan(size)));
    if (piece == 0) break;
    size += piece;
    if (size > limit)
      return fail(ErrorKind::too_large, "content above the limit of " + std::to_string(limit) + " bytes");
  }
  content.resize(size);
  return content;
}

std::vector<std::byte> compress(Compression compression, ByteView input) {
  CompressionStream stream(compression);
  std::vector<std::byte> out;
  stream.write(input, out);
  stream.finish(out);
  return out;
}

}  // namespace barnabas::protocol
