#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

#include "metadata/config_definitions.h"

namespace barnabas::metadata {
namespace {

/// As Java's Double.toString: plain between a thousandth and ten million, else with an exponent; always with
/// a point.
std::string java_decimal(double value) {
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  std::array<char, 64> buffer{};
  const double size = std::abs(value);
  const bool plain = size >= 1e-3 && size < 1e7;
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
  const std::string text(buffer.data(), end);
  const auto with_point = [](std::string digits) {
    return digits.find('.') == digits.npos ? digits + ".0" : digits;
  };
  if (plain) return with_point(text);
  const auto e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1);
  return with_point(text.substr(0, e)) + "E" + std::to_string(exponent);
}

std::string joined_once(std::string_view list, bool duplicates_allowed) {
  std::string joined;
  std::vector<std::string_view> seen;
  for (const std::string_view item : split_list(list)) {
    if (!duplicates_allowed && std::ranges::find(seen, item) != seen.end()) continue;
    joined += (seen.empty() ? "" : ",") + std::string(item);
    seen.push_back(item);
  }
  return joined;
}

}  // namespace

std::string canonical_config(const ConfigDefinition& definition, std::string_view value) {
  switch (definition.type) {
    case ConfigType::boolean:
      if (const auto parsed = parse_boolean(value)) return *parsed ? "true" : "false";
      break;
    case ConfigType::int16:
    case ConfigType::int32:
    case ConfigType::int64:
      if (const auto parsed = parse_integer(value)) return std::to_string(*parsed);
      break;
    case ConfigType::float64:
      if (const auto parsed = parse_decimal(value)) return java_decimal(*parsed);
      break;
    case ConfigType::list:
      return joined_once(value, definition.duplicates_allowed);
    case ConfigType::string:
    case ConfigType::class_name:
    case ConfigType::password:
      return std::string(trimmed(value));
  }
  return std::string(value);
}

}  // namespace barnabas::metadata
