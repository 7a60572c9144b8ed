#include <zstd.h>

#include <algorithm>

#include "base/assert.h"
#include "protocol/compression/codecs.h"

namespace barnabas::protocol {
namespace {

// zstd's own default limit, and so that of Kafka's Java readers: producers at level 22 write windows of 128
// MiB.
constexpr int window_log_max = 27;

class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : context_(ZSTD_createDCtx()) {
    BARNABAS_ASSERT(context_ != nullptr);
    BARNABAS_ASSERT(ZSTD_isError(ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, window_log_max)) == 0);
  }
  ~ZstdDecompressor() override { ZSTD_freeDCtx(context_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

  void reset(ByteView input) override {
    ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
    input_ = {input.data(), input.size(), 0};
    within_frame_ = false;
  }

  Result<size_t> read(MutableByteView into) override {
    ZSTD_outBuffer output{into.data(), into.size(), 0};
    while (output.pos < output.size) {
      if (input_.pos == input_.size && !within_frame_) break;
      const size_t read_before = input_.pos;
      const size_t written_before = output.pos;
      const size_t hint = ZSTD_decompressStream(context_, &output, &input_);
      if (ZSTD_isError(hint) != 0) {
        return fail(ErrorKind::corrupt, std::string("zstd: ") + ZSTD_getErrorName(hint));
      }
      within_frame_ = hint != 0;
      if (within_frame_ && input_.pos == read_before && output.pos == written_before) {
        return fail(ErrorKind::corrupt, "zstd: the data ends within a frame");
      }
    }
    return output.pos;
  }

  size_t memory_bytes() const override { return ZSTD_sizeof_DCtx(context_); }

 private:
  ZSTD_DCtx* context_;
  ZSTD_inBuffer input_{};
  bool within_frame_ = false;
};

class ZstdCompressor final : public Compressor {
 public:
  ZstdCompressor() : context_(ZSTD_createCCtx()) { BARNABAS_ASSERT(context_ != nullptr); }
  ~ZstdCompressor() override { ZSTD_freeCCtx(context_); }
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;

  void reset(std::optional<int> level) override {
    ZSTD_CCtx_reset(context_, ZSTD_reset_session_only);
    const int wanted = std::clamp(level.value_or(3), ZSTD_minCLevel(), ZSTD_maxCLevel());
    BARNABAS_ASSERT(ZSTD_isError(ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, wanted)) == 0);
  }

  void write(ByteView input, std::vector<std::byte>& out) override {
    ZSTD_inBuffer from{input.data(), input.size(), 0};
    while (from.pos < from.size) run(from, ZSTD_e_continue, out);
  }

  void finish(std::vector<std::byte>& out) override {
    ZSTD_inBuffer nothing{nullptr, 0, 0};
    while (run(nothing, ZSTD_e_end, out) != 0) {
    }
  }

 private:
  size_t run(ZSTD_inBuffer& from, ZSTD_EndDirective directive, std::vector<std::byte>& out) {
    std::byte piece[16 * 1024];
    ZSTD_outBuffer to{piece, sizeof piece, 0};
    const size_t left = ZSTD_compressStream2(context_, &to, &from, directive);
    BARNABAS_ASSERT(ZSTD_isError(left) == 0);
    out.insert(out.end(), piece, piece + to.pos);
    return left;
  }

  ZSTD_CCtx* context_;
};

}  // namespace

std::unique_ptr<Decompressor> make_zstd_decompressor() {
  return std::make_unique<ZstdDecompressor>();
}
std::unique_ptr<Compressor> make_zstd_compressor() {
  return std::make_unique<ZstdCompressor>();
}

}  // namespace barnabas::protocol
