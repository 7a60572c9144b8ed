#include <snappy.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/endian.h"
#include "protocol/compression/codecs.h"
#include "protocol/compression/snappy_block.h"

namespace barnabas::protocol {
namespace {

// Blocks with up to so much content go through the library at once; larger ones are decoded in a stream.
constexpr uint32_t whole_block_bytes_max = 1 << 20;

const char* chars(const std::byte* bytes) {
  return reinterpret_cast<const char*>(bytes);
}
char* chars(std::byte* bytes) {
  return reinterpret_cast<char*>(bytes);
}

bool begins_with_xerial_magic(ByteView input) {
  return input.size() >= xerial_header_bytes &&
         std::memcmp(input.data(), xerial_magic, sizeof xerial_magic) == 0;
}

class SnappyDecompressor final : public Decompressor {
 public:
  void reset(ByteView input) override {
    rest_ = input;
    at_ = size_ = 0;
    began_ = streaming_ = framed_ = false;
  }

  Result<size_t> read(MutableByteView into) override {
    for (;;) {
      if (at_ < size_) {
        const size_t size = std::min(into.size(), size_ - at_);
        std::memcpy(into.data(), buffer_.get() + at_, size);
        at_ += size;
        return size;
      }
      if (streaming_) {
        BARNABAS_ASSIGN(const size_t size, block_.read(into));
        if (size > 0) return size;
        streaming_ = false;
      }
      BARNABAS_ASSIGN(const std::optional<ByteView> block, next_block());
      if (!block) return 0;
      BARNABAS_ASSIGN(const size_t size, open_block(*block, into));
      if (size > 0) return size;
    }
  }

  size_t memory_bytes() const override { return capacity_ + block_.memory_bytes(); }

 private:
  /// The next raw block, with its length in front; nothing at the end.
  Result<std::optional<ByteView>> next_block() {
    if (!began_) {
      began_ = true;
      if (rest_.empty()) return fail(ErrorKind::corrupt, "snappy: no data at all");
      framed_ = begins_with_xerial_magic(rest_);
      if (!framed_) return std::exchange(rest_, {});
    }
    if (!framed_) return std::nullopt;
    // The two versions behind the magic are not looked at, as Java does not either: some writers swap their
    // bytes.
    while (begins_with_xerial_magic(rest_)) rest_ = rest_.subspan(xerial_header_bytes);
    // Java takes up to three bytes behind the last chunk for the end, too.
    if (rest_.size() < 4) return std::nullopt;
    const auto size = load_big_endian<uint32_t>(rest_.data());
    rest_ = rest_.subspan(4);
    if (size > rest_.size()) return fail(ErrorKind::corrupt, "snappy: the data ends within a chunk");
    const ByteView block = rest_.first(size);
    rest_ = rest_.subspan(size);
    return block;
  }

  /// Decompresses the block into `into` if all of it fits, and says how much that was; else readies it for
  /// reading.
  Result<size_t> open_block(ByteView block, MutableByteView into) {
    ByteView elements = block;
    BARNABAS_ASSIGN(const uint32_t content, take_snappy_content_length(elements));
    if (content > whole_block_bytes_max) {
      block_.reset(elements, content);
      streaming_ = true;
      return 0;
    }
    const bool direct = content <= into.size();
    if (!direct && capacity_ < content) {
      capacity_ = content;
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
    }
    std::byte* to = direct ? into.data() : buffer_.get();
    size_t library_says = 0;
    BARNABAS_ASSERT(snappy::GetUncompressedLength(chars(block.data()), block.size(), &library_says));
    BARNABAS_ASSERT(library_says == content);
    if (!snappy::RawUncompress(chars(block.data()), block.size(), chars(to))) {
      return fail(ErrorKind::corrupt, "snappy: a block does not decompress");
    }
    if (direct) return content;
    at_ = 0;
    size_ = content;
    return 0;
  }

  ByteView rest_;
  bool began_ = false;
  bool framed_ = false;
  bool streaming_ = false;
  std::unique_ptr<std::byte[]> buffer_;  // content of the current block, if it is not streamed
  size_t capacity_ = 0;
  size_t at_ = 0;
  size_t size_ = 0;
  SnappyBlockDecoder block_;
};

class SnappyCompressor final : public Compressor {
 public:
  void reset(std::optional<int>) override {
    chunk_.clear();
    chunk_.reserve(xerial_chunk_bytes);
    began_ = false;
  }

  void write(ByteView input, std::vector<std::byte>& out) override {
    while (!input.empty()) {
      const size_t size = std::min(input.size(), xerial_chunk_bytes - chunk_.size());
      chunk_.insert(chunk_.end(), input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size));
      input = input.subspan(size);
      if (chunk_.size() == xerial_chunk_bytes) flush(out);
    }
  }

  void finish(std::vector<std::byte>& out) override {
    begin(out);
    if (!chunk_.empty()) flush(out);
  }

 private:
  void begin(std::vector<std::byte>& out) {
    if (began_) return;
    began_ = true;
    const size_t before = out.size();
    out.resize(before + xerial_header_bytes);
    std::memcpy(out.data() + before, xerial_magic, sizeof xerial_magic);
    store_big_endian<int32_t>(out.data() + before + sizeof xerial_magic, 1);
    store_big_endian<int32_t>(out.data() + before + sizeof xerial_magic + 4, 1);
  }

  void flush(std::vector<std::byte>& out) {
    begin(out);
    const size_t before = out.size();
    out.resize(before + 4 + snappy::MaxCompressedLength(chunk_.size()));
    size_t size = 0;
    snappy::RawCompress(chars(chunk_.data()), chunk_.size(), chars(out.data() + before + 4), &size);
    store_big_endian<int32_t>(out.data() + before, static_cast<int32_t>(size));
    out.resize(before + 4 + size);
    chunk_.clear();
  }

  std::vector<std::byte> chunk_;
  bool began_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> make_snappy_decompressor() {
  return std::make_unique<SnappyDecompressor>();
}
std::unique_ptr<Compressor> make_snappy_compressor() {
  return std::make_unique<SnappyCompressor>();
}

}  // namespace barnabas::protocol
