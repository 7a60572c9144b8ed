#include "security/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cctype>

namespace barnabas::security {

std::string encode_base64(ByteView bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  // Writes a terminating zero behind the text, where std::string has one.
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  return text;
}

std::optional<std::vector<std::byte>> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  // OpenSSL passes over spaces and lines' ends, which do not belong here.
  const auto last = text.find_last_not_of('=');
  const std::size_t length = last == text.npos ? 0 : last + 1;
  const std::size_t padding = text.size() - length;
  const auto is_digit = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/';
  };
  if (padding > 2 || !std::ranges::all_of(text.substr(0, length), is_digit)) return std::nullopt;
  std::vector<std::byte> bytes(text.size() / 4 * 3);
  const int decoded =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (decoded < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(decoded) - padding);
  return bytes;
}

}  // namespace barnabas::security
