#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace barnabas::protocol {

// Zigzag varints as records use them: at most 5 bytes for 32 bits and 10 for 64; bits above are dropped, as
// Kafka does.

inline constexpr size_t varint_bytes_max = 5;
inline constexpr size_t varlong_bytes_max = 10;

constexpr int32_t zigzag_decode(uint32_t n) {
  return static_cast<int32_t>((n >> 1) ^ (0U - (n & 1)));
}
constexpr int64_t zigzag_decode(uint64_t n) {
  return static_cast<int64_t>((n >> 1) ^ (uint64_t{0} - (n & 1)));
}
constexpr uint32_t zigzag_encode(int32_t n) {
  return (static_cast<uint32_t>(n) << 1) ^ static_cast<uint32_t>(n >> 31);
}
constexpr uint64_t zigzag_encode(int64_t n) {
  return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}

/// Reads forward from `at`, never to `end` or beyond; false when the bytes end or the number is too long.
/// `ends_late`: the caller knows that as many bytes as a number may have are there.
template <class Unsigned, bool ends_late, class Signed>
[[gnu::always_inline]] inline bool read_zigzag(const std::byte*& at, const std::byte* end, Signed& number) {
  constexpr size_t bytes_max = sizeof(Unsigned) == 4 ? varint_bytes_max : varlong_bytes_max;
  // One byte is the rule for deltas and counts, two for lengths.
  if (!ends_late && at == end) return false;
  const auto first = std::to_integer<Unsigned>(at[0]);
  if (first < 0x80) [[likely]] {
    at += 1;
    number = zigzag_decode(first);
    return true;
  }
  if (ends_late || end - at >= 2) [[likely]] {
    const auto second = std::to_integer<Unsigned>(at[1]);
    if (second < 0x80) [[likely]] {
      at += 2;
      number = zigzag_decode((first & 0x7f) | (second << 7));
      return true;
    }
  }
  Unsigned raw = first & 0x7f;
  ++at;
  for (size_t i = 1; i < bytes_max && (ends_late || at != end); ++i) {
    const auto byte = std::to_integer<Unsigned>(*at++);
    raw |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      number = zigzag_decode(raw);
      return true;
    }
  }
  return false;
}

inline bool read_varint(const std::byte*& at, const std::byte* end, int32_t& number) {
  return read_zigzag<uint32_t, false>(at, end, number);
}
inline bool read_varlong(const std::byte*& at, const std::byte* end, int64_t& number) {
  return read_zigzag<uint64_t, false>(at, end, number);
}

inline size_t varlong_bytes(int64_t number) {
  size_t bytes = 1;
  for (uint64_t raw = zigzag_encode(number); raw >= 0x80; raw >>= 7) ++bytes;
  return bytes;
}
inline size_t varint_bytes(int32_t number) {
  return varlong_bytes(number);
}

inline void append_varlong(std::vector<std::byte>& out, int64_t number) {
  uint64_t raw = zigzag_encode(number);
  for (; raw >= 0x80; raw >>= 7) out.push_back(static_cast<std::byte>(raw | 0x80));
  out.push_back(static_cast<std::byte>(raw));
}
inline void append_varint(std::vector<std::byte>& out, int32_t number) {
  append_varlong(out, number);
}

}  // namespace barnabas::protocol
