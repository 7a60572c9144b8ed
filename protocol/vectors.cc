#include "protocol/vectors.h"

#include <fstream>

#include "base/assert.h"

namespace barnabas::protocol::testing {

std::vector<nlohmann::json> read_vectors(const std::string& file) {
  std::ifstream in(std::string(BARNABAS_SOURCE_DIR) + "/protocol/vectors/" + file);
  BARNABAS_ASSERT(in.is_open());
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::vector<std::byte> from_hex(std::string_view hex) {
  constexpr auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  return bytes;
}

std::string to_hex(ByteView bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += digits[static_cast<std::size_t>(byte >> 4)];
    hex += digits[static_cast<std::size_t>(byte & std::byte{0xf})];
  }
  return hex;
}

std::string json_difference(const std::string& found, const nlohmann::json& expected) {
  const auto parsed = nlohmann::json::parse(found, nullptr, false);
  if (parsed.is_discarded()) return "not JSON: " + found;
  return parsed == expected ? "" : "found " + parsed.dump() + "\nexpected " + expected.dump();
}

}  // namespace barnabas::protocol::testing
