#include <lz4frame.h>
#include <lz4hc.h>

#include <algorithm>

#include "base/assert.h"
#include "protocol/compression/codecs.h"

namespace barnabas::protocol {
namespace {

constexpr unsigned char frame_magic[4] = {0x04, 0x22, 0x4d, 0x18};
// Kafka's default level stands for the fast compressor; every other one for the high compressor.
constexpr int default_level = 9;

// Java's reader wants version 1, independent blocks, and neither a dictionary nor the reserved bit.
std::optional<std::string> unreadable_for_java(ByteView input) {
  if (input.size() < 7) return "lz4: the data ends within the frame header";
  if (!std::equal(std::begin(frame_magic), std::end(frame_magic), input.begin(),
                  [](unsigned char a, std::byte b) { return std::byte{a} == b; })) {
    return "lz4: no frame begins here";
  }
  const auto flags = std::to_integer<unsigned>(input[4]);
  if (flags >> 6 != 1) return "lz4: frame version " + std::to_string(flags >> 6) + ", expected 1";
  if ((flags & 0x20) == 0) return "lz4: blocks depend on each other, which Kafka's clients cannot read";
  if ((flags & 0x03) != 0) return "lz4: the frame needs a dictionary or uses a reserved flag";
  return std::nullopt;
}

class Lz4Decompressor final : public Decompressor {
 public:
  Lz4Decompressor() { create(); }
  ~Lz4Decompressor() override { LZ4F_freeDecompressionContext(context_); }
  Lz4Decompressor(const Lz4Decompressor&) = delete;
  Lz4Decompressor& operator=(const Lz4Decompressor&) = delete;

  void reset(ByteView input) override {
    // The library's reset keeps the content size that an unfinished frame announced, and holds the next one
    // to it.
    if (began_ && !finished_) {
      LZ4F_freeDecompressionContext(context_);
      create();
    } else {
      LZ4F_resetDecompressionContext(context_);
    }
    rest_ = input;
    began_ = finished_ = false;
  }

  Result<size_t> read(MutableByteView into) override {
    if (!began_) {
      if (auto reason = unreadable_for_java(rest_)) return fail(ErrorKind::corrupt, std::move(*reason));
      began_ = true;
      const unsigned size_id = (std::to_integer<unsigned>(rest_[5]) >> 4) & 7;
      block_bytes_ = size_t{1} << (8 + 2 * size_id);
      // The context keeps buffers of the frame's block size.
      memory_bytes_ = std::max(memory_bytes_, 3 * block_bytes_);
    }
    size_t written = 0;
    // Asks for whole blocks where it can: the library decompresses any other elsewhere and copies.
    while (!finished_ && (written == 0 || into.size() - written >= block_bytes_)) {
      size_t out = into.size() - written;
      if (out > block_bytes_) out -= out % block_bytes_;
      size_t in = rest_.size();
      const size_t hint = LZ4F_decompress(context_, into.data() + written, &out, rest_.data(), &in, nullptr);
      if (LZ4F_isError(hint) != 0) {
        return fail(ErrorKind::corrupt, std::string("lz4: ") + LZ4F_getErrorName(hint));
      }
      if (hint != 0 && out == 0 && in == 0)
        return fail(ErrorKind::corrupt, "lz4: the data ends within the frame");
      written += out;
      rest_ = rest_.subspan(in);
      finished_ = hint == 0;
    }
    return written;
  }

  size_t memory_bytes() const override { return memory_bytes_; }

 private:
  void create() {
    BARNABAS_ASSERT(LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) == 0);
    memory_bytes_ = 0;
  }

  LZ4F_dctx* context_ = nullptr;
  ByteView rest_;
  bool began_ = false;
  bool finished_ = false;
  size_t block_bytes_ = 0;
  size_t memory_bytes_ = 0;
};

class Lz4Compressor final : public Compressor {
 public:
  Lz4Compressor() {
    BARNABAS_ASSERT(LZ4F_isError(LZ4F_createCompressionContext(&context_, LZ4F_VERSION)) == 0);
  }
  ~Lz4Compressor() override { LZ4F_freeCompressionContext(context_); }
  Lz4Compressor(const Lz4Compressor&) = delete;
  Lz4Compressor& operator=(const Lz4Compressor&) = delete;

  void reset(std::optional<int> level) override {
    preferences_ = {};
    preferences_.frameInfo.blockSizeID = LZ4F_max64KB;
    preferences_.frameInfo.blockMode = LZ4F_blockIndependent;
    const int wanted = level.value_or(default_level);
    preferences_.compressionLevel =
        wanted == default_level ? 0 : std::clamp(wanted, LZ4HC_CLEVEL_MIN, LZ4HC_CLEVEL_MAX);
    began_ = false;
  }

  void write(ByteView input, std::vector<std::byte>& out) override {
    begin(out);
    constexpr size_t piece_max = 256 * 1024;
    while (!input.empty()) {
      const ByteView piece = input.first(std::min(input.size(), piece_max));
      room(out, LZ4F_compressBound(piece.size(), &preferences_), [&](std::byte* to, size_t size) {
        return LZ4F_compressUpdate(context_, to, size, piece.data(), piece.size(), nullptr);
      });
      input = input.subspan(piece.size());
    }
  }

  void finish(std::vector<std::byte>& out) override {
    begin(out);
    room(out, LZ4F_compressBound(0, &preferences_),
         [&](std::byte* to, size_t size) { return LZ4F_compressEnd(context_, to, size, nullptr); });
  }

 private:
  void begin(std::vector<std::byte>& out) {
    if (began_) return;
    began_ = true;
    room(out, LZ4F_HEADER_SIZE_MAX,
         [&](std::byte* to, size_t size) { return LZ4F_compressBegin(context_, to, size, &preferences_); });
  }

  // Lets `write` append up to `size_max` bytes to `out`; it returns how many.
  template <class Write>
  void room(std::vector<std::byte>& out, size_t size_max, Write write) {
    const size_t before = out.size();
    out.resize(before + size_max);
    const size_t written = write(out.data() + before, size_max);
    BARNABAS_ASSERT(LZ4F_isError(written) == 0);
    out.resize(before + written);
  }

  LZ4F_cctx* context_ = nullptr;
  LZ4F_preferences_t preferences_{};
  bool began_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> make_lz4_decompressor() {
  return std::make_unique<Lz4Decompressor>();
}
std::unique_ptr<Compressor> make_lz4_compressor() {
  return std::make_unique<Lz4Compressor>();
}

}  // namespace barnabas::protocol
