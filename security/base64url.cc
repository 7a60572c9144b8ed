#include "security/base64url.h"

#include <array>
#include <cstdint>

namespace barnabas::security {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<int8_t, 256> values = [] {
  std::array<int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<int8_t>(i);
  return table;
}();

}  // namespace

Result<std::string> decode_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return fail(ErrorKind::corrupt, "base64url: a length that no bytes have");
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0) return fail(ErrorKind::corrupt, "base64url: a character outside of the alphabet");
    bits = (bits << 6) | static_cast<uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>((bits >> held) & 0xFF);
  }
  if ((bits & ((1U << held) - 1)) != 0) return fail(ErrorKind::corrupt, "base64url: bits are left over");
  return bytes;
}

}  // namespace barnabas::security
