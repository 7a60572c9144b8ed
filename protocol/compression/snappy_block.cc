#include "protocol/compression/snappy_block.h"

#include <algorithm>
#include <cstring>

namespace barnabas::protocol {
namespace {

std::unexpected<Error> corrupt(const char* what) {
  return fail(ErrorKind::corrupt, std::string("snappy: ") + what);
}

uint32_t load_little_endian(ByteView bytes, size_t width) {
  uint32_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= std::to_integer<uint32_t>(bytes[i]) << (8 * i);
  return value;
}

}  // namespace

Result<uint32_t> take_snappy_content_length(ByteView& block) {
  uint64_t length = 0;
  for (size_t i = 0; i < 5 && i < block.size(); ++i) {
    const auto byte = std::to_integer<uint64_t>(block[i]);
    length |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      if (length > UINT32_MAX) break;
      block = block.subspan(i + 1);
      return static_cast<uint32_t>(length);
    }
  }
  return corrupt("a block's length is no number of 32 bits");
}

void SnappyBlockDecoder::reset(ByteView elements, uint64_t content_bytes) {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
  rest_ = elements;
  content_left_ = content_bytes;
  decoded_ = handed_out_ = literal_left_ = 0;
}

Result<size_t> SnappyBlockDecoder::read(MutableByteView into) {
  if (handed_out_ == decoded_) BARNABAS_TRY(decode_some());
  const size_t size = std::min(into.size(), decoded_ - handed_out_);
  std::memcpy(into.data(), buffer_.get() + handed_out_, size);
  handed_out_ += size;
  return size;
}

// Everything decoded so far has been handed out; keeps what later copies may look back at.
void SnappyBlockDecoder::make_room() {
  if (decoded_ <= window_bytes) return;
  std::memmove(buffer_.get(), buffer_.get() + decoded_ - window_bytes, window_bytes);
  decoded_ = handed_out_ = window_bytes;
}

Result<void> SnappyBlockDecoder::decode_some() {
  constexpr size_t copy_bytes_max = 64;
  constexpr size_t step_bytes = 256 * 1024;
  if (decoded_ + step_bytes + copy_bytes_max > buffer_bytes) make_room();
  const size_t stop = decoded_ + step_bytes;
  while (decoded_ < stop && (literal_left_ > 0 || !rest_.empty())) {
    if (literal_left_ == 0) {
      BARNABAS_TRY(take_tag());
      continue;
    }
    const size_t size = std::min({literal_left_, stop - decoded_, rest_.size()});
    if (size == 0) return corrupt("a block ends within a literal");
    std::memcpy(buffer_.get() + decoded_, rest_.data(), size);
    rest_ = rest_.subspan(size);
    literal_left_ -= size;
    decoded_ += size;
  }
  if (decoded_ == handed_out_ && content_left_ != 0) return corrupt("a block has less content than it says");
  return {};
}

Result<void> SnappyBlockDecoder::take_tag() {
  const auto tag = std::to_integer<uint32_t>(rest_[0]);
  rest_ = rest_.subspan(1);
  const uint32_t kind = tag & 3;
  uint32_t length = (tag >> 2) + 1;
  size_t extra = kind == 3 ? 4 : kind;
  if (kind == 0) extra = length > 60 ? length - 60 : 0;
  if (kind == 1) length = ((tag >> 2) & 7) + 4;
  if (rest_.size() < extra) return corrupt("a block ends within an element");
  const uint32_t number = load_little_endian(rest_, extra);
  rest_ = rest_.subspan(extra);

  if (kind == 0) {
    const uint64_t literal = extra > 0 ? uint64_t{number} + 1 : length;
    if (literal > content_left_) return corrupt("a block has more content than it says");
    content_left_ -= literal;
    literal_left_ = literal;
    return {};
  }
  const uint32_t distance = kind == 1 ? number | ((tag >> 5) << 8) : number;
  if (length > content_left_) return corrupt("a block has more content than it says");
  if (distance == 0 || distance > decoded_) return corrupt("a copy looks back too far");
  content_left_ -= length;
  std::byte* to = buffer_.get() + decoded_;
  // Byte by byte: source and destination may overlap, which repeats the source.
  for (uint32_t i = 0; i < length; ++i) to[i] = *(to + i - distance);
  decoded_ += length;
  return {};
}

}  // namespace barnabas::protocol
