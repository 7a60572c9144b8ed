#pragma once

// Helpers that several tests of record batches share.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/types.h"

namespace barnabas::protocol::test {

using Bytes = std::vector<std::byte>;

inline Bytes from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  return bytes;
}

inline std::string to_hex(ByteView bytes) {
  std::string hex;
  for (const std::byte byte : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    hex += digits[std::to_integer<int>(byte >> 4)];
    hex += digits[std::to_integer<int>(byte & std::byte{15})];
  }
  return hex;
}

inline Bytes to_bytes(std::string_view text) {
  const ByteView view = as_byte_view(text);
  return {view.begin(), view.end()};
}

inline Bytes from_base64(std::string_view text) {
  Bytes bytes;
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    uint32_t value = 0;
    if (c >= 'A' && c <= 'Z')
      value = static_cast<uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      value = static_cast<uint32_t>(c - 'a' + 26);
    else if (c >= '0' && c <= '9')
      value = static_cast<uint32_t>(c - '0' + 52);
    else if (c == '+')
      value = 62;
    else if (c == '/')
      value = 63;
    else
      break;
    group = group << 6 | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::byte>(group >> bits));
    }
  }
  return bytes;
}

/// The lines of a file of golden vectors under protocol/vectors.
inline std::vector<nlohmann::json> vectors(const std::string& file) {
  std::ifstream in(std::string(BARNABAS_SOURCE_DIR) + "/protocol/vectors/" + file);
  EXPECT_TRUE(in.is_open()) << file;
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace barnabas::protocol::test
