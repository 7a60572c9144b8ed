// Each codec over hostile bytes: the first one chooses the codec, the rest is the compressed data. The
// content is read in pieces of two sizes up to a bound, which must give the same.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "protocol/compression/decompressor.h"

namespace {

using namespace barnabas;
using namespace barnabas::protocol;

constexpr size_t content_bytes_max = 4 << 20;

std::vector<std::byte> content(Codec codec, ByteView input, size_t piece_bytes) {
  DecompressionStream stream(codec, input);
  std::vector<std::byte> all;
  std::vector<std::byte> piece(piece_bytes);
  while (all.size() < content_bytes_max) {
    const auto size = stream.read(piece);
    if (!size || *size == 0) break;
    BARNABAS_ASSERT(*size <= piece.size());
    all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(*size));
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const Codec codec = static_cast<Codec>(data[0] % codec_count);
  const ByteView input = std::as_bytes(std::span(data, size)).subspan(1);
  const auto in_large_pieces = content(codec, input, 64 * 1024);
  const auto in_small_pieces = content(codec, input, 999);
  // After an error the small pieces may have got a little further, or less.
  const size_t common = std::min(in_large_pieces.size(), in_small_pieces.size());
  BARNABAS_ASSERT(std::equal(in_large_pieces.begin(),
                             in_large_pieces.begin() + static_cast<std::ptrdiff_t>(common),
                             in_small_pieces.begin()));
  return 0;
}
