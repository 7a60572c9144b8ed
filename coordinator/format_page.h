#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

/// For tests that hold a page of docs/formats against the code.
namespace barnabas::coordinator::testing {

inline std::vector<std::string> lines_of_page(const std::string& name) {
  std::ifstream in(BARNABAS_SOURCE_DIR "/docs/formats/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  EXPECT_GT(lines.size(), 20u);
  return lines;
}

/// Hex; blanks between the digits do not count.
inline std::vector<std::byte> bytes_of(std::string digits) {
  std::erase(digits, ' ');
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    uint8_t byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

/// Hex at the beginning of each line of the page's example, up to two blanks.
inline std::vector<std::vector<std::byte>> example_of_page(const std::string& name) {
  std::vector<std::vector<std::byte>> lines;
  bool inside = false;
  for (const std::string& line : lines_of_page(name)) {
    if (line.starts_with("```")) {
      inside = line == "```hex";
    } else if (inside) {
      lines.push_back(bytes_of(line.substr(0, line.find("  "))));
    }
  }
  return lines;
}

}  // namespace barnabas::coordinator::testing
