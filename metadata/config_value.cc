#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

#include "metadata/config_definitions.h"

namespace barnabas::metadata {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// A refusal whose sentence needs no value in front.
std::unexpected<Error> refuse_list(const ConfigDefinition& definition, std::string_view why) {
  return fail(ErrorKind::invalid, "Configuration '" + std::string(definition.name) + "' " + std::string(why));
}

/// Wordings are Kafka's, since tools and tests look for them.
std::unexpected<Error> refuse(const ConfigDefinition& definition, std::optional<std::string_view> value,
                              std::string_view why) {
  const std::string_view shown = !value                                    ? "null"
                                 : definition.type == ConfigType::password ? "[hidden]"
                                                                           : *value;
  std::string text =
      "Invalid value " + std::string(shown) + " for configuration " + std::string(definition.name);
  if (!why.empty()) text += ": " + std::string(why);
  return fail(ErrorKind::invalid, std::move(text));
}

/// "[low,...,high]", either end open; true when `value` lies within.
struct Bounds {
  std::optional<double> low;
  std::optional<double> high;
};

/// Reads "[0,...]", "[1,...,9]" and what follows them; nothing when the text is not of that form.
std::optional<Bounds> parse_bounds(std::string_view text) {
  const auto dots = text.find(",...");
  if (!text.starts_with('[') || dots == std::string_view::npos) return std::nullopt;
  Bounds bounds{parse_decimal(text.substr(1, dots - 1)), std::nullopt};
  std::string_view rest = text.substr(dots + 4);
  if (rest.starts_with(',')) bounds.high = parse_decimal(rest.substr(1, rest.find(']') - 1));
  return bounds;
}

Result<void> check_bounds(const ConfigDefinition& definition, std::string_view value, double number) {
  const auto bounds = parse_bounds(definition.valid_values);
  if (!bounds) return {};
  if (const auto exception = definition.valid_values.find(" or "); exception != std::string_view::npos) {
    if (parse_decimal(definition.valid_values.substr(exception + 4)) == number) return {};
    if (bounds->low && bounds->high && (number < *bounds->low || number > *bounds->high))
      return refuse(definition, value,
                    "Value must be between " + std::to_string(static_cast<int64_t>(*bounds->low)) + " and " +
                        std::to_string(static_cast<int64_t>(*bounds->high)) + " or equal to " +
                        std::string(definition.valid_values.substr(exception + 4)));
  }
  if (bounds->low && number < *bounds->low)
    return refuse(definition, value,
                  "Value must be at least " +
                      std::string(definition.valid_values.substr(1, definition.valid_values.find(',') - 1)));
  if (bounds->high && number > *bounds->high) {
    const auto from = definition.valid_values.rfind(',') + 1;
    return refuse(definition, value,
                  "Value must be no more than " + std::string(definition.valid_values.substr(
                                                      from, definition.valid_values.find(']') - from)));
  }
  return {};
}

/// "[a, b, c]", possibly with "(case insensitive)" in front.
Result<void> check_enumeration(const ConfigDefinition& definition, std::string_view item) {
  std::string_view allowed = definition.valid_values;
  constexpr std::string_view any_case = "(case insensitive) ";
  const bool fold = allowed.starts_with(any_case);
  if (fold) allowed.remove_prefix(any_case.size());
  if (!allowed.starts_with('[') || allowed.starts_with("[partitionId]") ||
      allowed.find("...") != allowed.npos || allowed.find("by_duration") != allowed.npos)
    return {};
  allowed = allowed.substr(1, allowed.size() - 2);
  for (std::string_view choice : split_list(allowed))
    if (fold ? lower(choice) == lower(item) : choice == item) return {};
  return refuse(definition, item, "String must be one of: " + std::string(allowed));
}

/// "0:1,1:2" or "*", as the throttled replica lists want.
bool is_throttled_replicas(const std::vector<std::string_view>& items) {
  if (items.size() == 1 && items[0] == "*") return true;
  const auto is_number = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  return std::ranges::all_of(items, [&](std::string_view item) {
    const auto colon = item.find(':');
    return colon != item.npos && is_number(item.substr(0, colon)) && is_number(item.substr(colon + 1));
  });
}

Result<void> check_throttled_replicas(const ConfigDefinition& definition,
                                      const std::vector<std::string_view>& items) {
  if (!definition.valid_values.starts_with("[partitionId]") || is_throttled_replicas(items)) return {};
  std::string shown;
  for (const std::string_view item : items) shown += (shown.empty() ? "" : ", ") + std::string(item);
  return refuse(definition, "[" + shown + "]",
                std::string(definition.name) +
                    " must be the literal '*' or a list of replicas in the following format: " +
                    std::string(definition.valid_values));
}

Result<void> check_list(const ConfigDefinition& definition, std::string_view value) {
  const auto items = split_list(value);
  if (items.empty() && !definition.empty_list_allowed)
    return refuse_list(definition, "must not be empty. Valid values include: any non-empty value");
  for (const std::string_view item : items) {
    if (item.empty()) return refuse_list(definition, "values must not be empty.");
    if (!definition.duplicates_allowed && std::ranges::count(items, item) > 1)
      return refuse_list(definition, "values must not be duplicated.");
  }
  for (const std::string_view item : items) BARNABAS_TRY(check_enumeration(definition, item));
  return check_throttled_replicas(definition, items);
}

Result<void> check_integer(const ConfigDefinition& definition, std::string_view value, int64_t low,
                           int64_t high, std::string_view what) {
  const auto number = parse_integer(value);
  if (!number || *number < low || *number > high)
    return refuse(definition, value, "Not a number of type " + std::string(what));
  return check_bounds(definition, value, static_cast<double>(*number));
}

}  // namespace

std::optional<bool> parse_boolean(std::string_view text) {
  const std::string word = lower(trimmed(text));
  if (word == "true") return true;
  if (word == "false") return false;
  return std::nullopt;
}

std::optional<double> parse_decimal(std::string_view text) {
  text = trimmed(text);
  // Java takes 0.5f and 0.5d for doubles, and neither "inf" nor "nan" in other spellings than its own.
  if (text.ends_with('f') || text.ends_with('F') || text.ends_with('d') || text.ends_with('D'))
    text.remove_suffix(1);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const bool digits = std::ranges::any_of(text, [](char c) { return c >= '0' && c <= '9'; });
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!digits || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int32_t> java_integer(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> items;
  if (trimmed(text).empty()) return items;
  for (;;) {
    const auto comma = text.find(',');
    items.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

Result<void> validate_config(const ConfigDefinition& definition, std::optional<std::string_view> value) {
  if (!value) {
    if (definition.null_allowed && definition.default_value == nullptr) return {};
    return refuse(definition, value, "");
  }
  switch (definition.type) {
    case ConfigType::boolean:
      if (!parse_boolean(*value))
        return refuse(definition, value, "Expected value to be either true or false");
      return {};
    case ConfigType::int16:
      return check_integer(definition, *value, std::numeric_limits<int16_t>::min(),
                           std::numeric_limits<int16_t>::max(), "SHORT");
    case ConfigType::int32:
      return check_integer(definition, *value, std::numeric_limits<int32_t>::min(),
                           std::numeric_limits<int32_t>::max(), "INT");
    case ConfigType::int64:
      return check_integer(definition, *value, std::numeric_limits<int64_t>::min(),
                           std::numeric_limits<int64_t>::max(), "LONG");
    case ConfigType::float64: {
      const auto number = parse_decimal(*value);
      if (!number) return refuse(definition, value, "Not a number of type DOUBLE");
      return check_bounds(definition, *value, *number);
    }
    case ConfigType::list:
      return check_list(definition, *value);
    case ConfigType::string:
      if (definition.valid_values == "non-empty string" && trimmed(*value).empty())
        return refuse(definition, value, "String must be non-empty");
      return check_enumeration(definition, trimmed(*value));
    case ConfigType::class_name:
    case ConfigType::password:
      return {};
  }
  return {};
}

}  // namespace barnabas::metadata
