#include <zlib.h>

#include <algorithm>
#include <climits>

#include "base/assert.h"
#include "protocol/compression/codecs.h"

namespace barnabas::protocol {
namespace {

constexpr int gzip_window_bits =
    15 + 16;  // 32 KiB, and zlib's sign for "gzip header and trailer, nothing else"

Bytef* zlib_bytes(const std::byte* bytes) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes));
}

class GzipDecompressor final : public Decompressor {
 public:
  GzipDecompressor() { BARNABAS_ASSERT(inflateInit2(&zlib_, gzip_window_bits) == Z_OK); }
  ~GzipDecompressor() override { inflateEnd(&zlib_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;

  void reset(ByteView input) override {
    inflateReset(&zlib_);
    rest_ = input;
    zlib_.avail_in = 0;
    finished_ = false;
  }

  Result<size_t> read(MutableByteView into) override {
    zlib_.next_out = zlib_bytes(into.data());
    zlib_.avail_out = static_cast<uInt>(std::min<size_t>(into.size(), UINT_MAX));
    const size_t wanted = zlib_.avail_out;
    while (!finished_ && zlib_.avail_out > 0) {
      refill();
      const int code = inflate(&zlib_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        finished_ = !next_member_begins();
      } else if (code != Z_OK) {
        return fail(ErrorKind::corrupt, code == Z_BUF_ERROR ? "gzip: the data ends within a member"
                                                            : std::string("gzip: ") + message());
      }
    }
    return wanted - zlib_.avail_out;
  }

  size_t memory_bytes() const override { return 48 * 1024; }

 private:
  void refill() {
    if (zlib_.avail_in > 0 || rest_.empty()) return;
    const size_t piece = std::min<size_t>(rest_.size(), INT_MAX);
    zlib_.next_in = zlib_bytes(rest_.data());
    zlib_.avail_in = static_cast<uInt>(piece);
    rest_ = rest_.subspan(piece);
  }

  // Java goes on with a further member if its header is in order, and ignores anything else.
  bool next_member_begins() {
    refill();
    if (zlib_.avail_in < 18 || zlib_.next_in[0] != 0x1f || zlib_.next_in[1] != 0x8b ||
        zlib_.next_in[2] != 8) {
      return false;
    }
    return inflateReset(&zlib_) == Z_OK;
  }

  const char* message() const { return zlib_.msg != nullptr ? zlib_.msg : "the data does not decompress"; }

  z_stream zlib_{};
  ByteView rest_;
  bool finished_ = false;
};

class GzipCompressor final : public Compressor {
 public:
  GzipCompressor() {
    BARNABAS_ASSERT(deflateInit2(&zlib_, level_, Z_DEFLATED, gzip_window_bits, 8, Z_DEFAULT_STRATEGY) ==
                    Z_OK);
  }
  ~GzipCompressor() override { deflateEnd(&zlib_); }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  void reset(std::optional<int> level) override {
    const int wanted = std::clamp(level.value_or(Z_DEFAULT_COMPRESSION), -1, 9);
    deflateReset(&zlib_);
    if (wanted == level_) return;
    deflateParams(&zlib_, wanted, Z_DEFAULT_STRATEGY);
    level_ = wanted;
  }

  void write(ByteView input, std::vector<std::byte>& out) override {
    while (!input.empty()) {
      const size_t piece = std::min<size_t>(input.size(), INT_MAX);
      zlib_.next_in = zlib_bytes(input.data());
      zlib_.avail_in = static_cast<uInt>(piece);
      run(Z_NO_FLUSH, out);
      input = input.subspan(piece);
    }
  }

  void finish(std::vector<std::byte>& out) override {
    zlib_.avail_in = 0;
    run(Z_FINISH, out);
  }

 private:
  void run(int flush, std::vector<std::byte>& out) {
    std::byte piece[16 * 1024];
    do {
      zlib_.next_out = zlib_bytes(piece);
      zlib_.avail_out = sizeof piece;
      BARNABAS_ASSERT(deflate(&zlib_, flush) != Z_STREAM_ERROR);
      out.insert(out.end(), piece, piece + sizeof piece - zlib_.avail_out);
    } while (zlib_.avail_out == 0);
  }

  z_stream zlib_{};
  int level_ = Z_DEFAULT_COMPRESSION;
};

}  // namespace

std::unique_ptr<Decompressor> make_gzip_decompressor() {
  return std::make_unique<GzipDecompressor>();
}
std::unique_ptr<Compressor> make_gzip_compressor() {
  return std::make_unique<GzipCompressor>();
}

}  // namespace barnabas::protocol
