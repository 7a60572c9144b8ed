#include "base/log_format.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace barnabas {
namespace {

bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-';
}

/// Length of a key and its = at `at`; 0: there is none.
std::size_t key_length(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_key_char(text[end])) ++end;
  return end > at && end < text.size() && text[end] == '=' ? end + 1 - at : 0;
}

/// Where the next pair begins, at or behind `at`: after a space that is not within quotes. The end of the
/// text if there is none.
std::size_t next_pair(std::string_view text, std::size_t at) {
  bool quoted = false;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == ' ' && key_length(text, i + 1) > 0) {
      return i + 1;
    }
  }
  return text.size();
}

std::optional<char> hex_byte(std::string_view digits) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (digits.size() != 2 || digit(digits[0]) < 0 || digit(digits[1]) < 0) return std::nullopt;
  return static_cast<char>(digit(digits[0]) * 16 + digit(digits[1]));
}

/// What log_text quoted, as it was; anything else as it is.
std::string unquoted(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::string(value);
  value = value.substr(1, value.size() - 2);
  std::string result;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\\' || i + 1 == value.size()) {
      result += value[i];
      continue;
    }
    const char escaped = value[++i];
    if (escaped == 'x') {
      if (const auto byte = hex_byte(value.substr(i + 1, 2))) {
        result += *byte;
        i += 2;
        continue;
      }
    }
    result += escaped == 'n' ? '\n' : escaped;
  }
  return result;
}

}  // namespace

std::string json_log_line(std::string_view time, std::string_view level, std::string_view logger,
                          std::string_view text) {
  nlohmann::ordered_json line;
  line["time"] = time;
  line["level"] = level;
  line["logger"] = logger;
  std::size_t at = key_length(text, 0) > 0 ? 0 : next_pair(text, 0);
  line["message"] = text.substr(0, at == 0 || at == text.size() ? at : at - 1);
  while (at < text.size()) {
    const std::size_t length = key_length(text, at);
    std::string key(text.substr(at, length - 1));
    while (line.contains(key)) key += '_';
    const std::size_t begin = at + length;
    // A value that begins behind the = is never taken for the pair's end.
    at = next_pair(text, begin);
    line[key] = unquoted(text.substr(begin, (at == text.size() ? at : at - 1) - begin));
  }
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace barnabas
