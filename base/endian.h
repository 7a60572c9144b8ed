#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace barnabas {

/// Reads a big-endian integer from unaligned bytes; the caller has checked that sizeof(T) bytes are there.
template <std::integral T>
T load_big_endian(const std::byte* from) {
  std::make_unsigned_t<T> value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::little && sizeof(T) > 1) value = std::byteswap(value);
  return static_cast<T>(value);
}

/// Writes a big-endian integer to unaligned bytes; the caller has checked that sizeof(T) bytes fit.
template <std::integral T>
void store_big_endian(std::byte* to, T number) {
  auto value = static_cast<std::make_unsigned_t<T>>(number);
  if constexpr (std::endian::native == std::endian::little && sizeof(T) > 1) value = std::byteswap(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace barnabas
