#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace barnabas {

uint32_t crc32c_extend(uint32_t crc, ByteView bytes) {
  // isa-l takes an int length and a non-const pointer, and leaves the inversions to the caller.
  constexpr std::size_t piece_max = std::size_t{1} << 30;
  uint32_t state = ~crc;
  while (!bytes.empty()) {
    const std::size_t length = std::min(bytes.size(), piece_max);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(length), state);
    bytes = bytes.subspan(length);
  }
  return ~state;
}

uint32_t crc32c(ByteView bytes) {
  return crc32c_extend(0, bytes);
}

}  // namespace barnabas
