#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace barnabas::command {

/// For numbers of things. CLI::PositiveNumber complains with the greatest double, in full.
inline CLI::Validator positive_number() {
  return CLI::Validator(
      [](std::string& text) {
        int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_number = end == text.data() + text.size() && error != std::errc::invalid_argument;
        return is_number && number > 0 ? std::string() : "expected 1 or more, not " + text;
      },
      "");
}

}  // namespace barnabas::command
