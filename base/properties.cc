#include "base/properties.h"

#include <charconv>
#include <cstdint>

namespace barnabas {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\f';
}

std::string_view without_leading_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

void append_utf8(std::string& to, uint32_t code) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0 | (code >> 6));
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    to += static_cast<char>(0xe0 | (code >> 12));
    to += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  }
}

/// Whether a natural line goes on in the next one: it ends in an odd number of backslashes.
bool continues(std::string_view line) {
  std::size_t slashes = 0;
  while (slashes < line.size() && line[line.size() - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 == 1;
}

/// Cuts the next natural line off `text`.
std::string_view next_line(std::string_view& text) {
  const auto end = text.find_first_of("\r\n");
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos) {
    text = {};
  } else {
    text.remove_prefix(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  return line;
}

Result<std::string> unescape(std::string_view text, int line) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      if (text[i] != '\\') result += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'u') {
      uint32_t code = 0;
      const std::string_view digits = text.substr(i + 1, 4);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
      if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4)
        return fail(ErrorKind::invalid,
                    "line " + std::to_string(line) + ": \\u must be followed by four hexadecimal digits");
      append_utf8(result, code);
      i += 4;
    } else {
      result += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c;
    }
  }
  return result;
}

/// Where the name ends: at the first blank, "=" or ":" that no backslash precedes.
std::size_t name_end(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (is_blank(line[i]) || line[i] == '=' || line[i] == ':') {
      return i;
    }
  }
  return line.size();
}

Result<Property> parse_logical_line(std::string_view line, int number) {
  const std::size_t end = name_end(line);
  std::string_view value = without_leading_blanks(line.substr(end));
  if (!value.empty() && (value.front() == '=' || value.front() == ':'))
    value = without_leading_blanks(value.substr(1));
  Property property;
  property.line = number;
  BARNABAS_ASSIGN(property.name, unescape(line.substr(0, end), number));
  BARNABAS_ASSIGN(property.value, unescape(value, number));
  return property;
}

}  // namespace

Result<std::vector<Property>> parse_properties(std::string_view text) {
  std::vector<Property> properties;
  int number = 0;
  while (!text.empty()) {
    std::string logical(without_leading_blanks(next_line(text)));
    const int first = ++number;
    if (logical.empty() || logical.front() == '#' || logical.front() == '!') continue;
    while (continues(logical)) {
      logical.pop_back();
      if (text.empty()) break;
      logical += without_leading_blanks(next_line(text));
      ++number;
    }
    BARNABAS_ASSIGN(Property property, parse_logical_line(logical, first));
    properties.push_back(std::move(property));
  }
  return properties;
}

}  // namespace barnabas
