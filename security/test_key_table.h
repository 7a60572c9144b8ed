#pragma once

#include <string>
#include <string_view>

namespace barnabas::security::test {

/// A file of MIT's key table format 0x0502 with one AES-256 key of "service/host@REALM".
inline std::string key_table(std::string_view service, std::string_view host, std::string_view realm) {
  const auto number = [](unsigned long value, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>((value >> (8 * i)) & 0xFF);
    return text;
  };
  const auto counted = [&](std::string_view text) { return number(text.size(), 2) + std::string(text); };
  const std::string entry = number(2, 2) + counted(realm) + counted(service) + counted(host) + number(1, 4) +
                            number(1'700'000'000, 4) + number(1, 1) + number(18, 2) +
                            counted(std::string(32, 'k'));
  return std::string("\x05\x02", 2) + number(entry.size(), 4) + entry;
}

}  // namespace barnabas::security::test
