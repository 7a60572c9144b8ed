#pragma once

#include <string_view>

namespace barnabas {

/// Without what Java's String.trim() cuts off at both ends: blanks and all control characters before them.
constexpr std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace barnabas
