#include "client/commands/acl_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace barnabas::client {
namespace {

constexpr auto resource_types = std::to_array<std::string_view>(
    {"UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"});
constexpr auto pattern_types =
    std::to_array<std::string_view>({"UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED"});
constexpr auto operations = std::to_array<std::string_view>(
    {"UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
     "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
     "TWO_PHASE_COMMIT"});
constexpr auto permissions = std::to_array<std::string_view>({"UNKNOWN", "ANY", "DENY", "ALLOW"});

std::span<const std::string_view> list(AclWords words) {
  switch (words) {
    case AclWords::resource_type:
      return resource_types;
    case AclWords::pattern_type:
      return pattern_types;
    case AclWords::operation:
      return operations;
    case AclWords::permission:
      break;
  }
  return permissions;
}

}  // namespace

std::string acl_word(AclWords words, int8_t number) {
  const auto names = list(words);
  const auto index = static_cast<std::size_t>(std::max<int8_t>(number, 0));
  return index < names.size() ? std::string(names[index]) : std::to_string(number);
}

std::optional<int8_t> acl_number(AclWords words, std::string_view word) {
  std::string upper(word);
  for (char& c : upper) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto names = list(words);
  const auto found = std::ranges::find(names, upper);
  if (found == names.end() || found == names.begin()) return std::nullopt;
  return static_cast<int8_t>(found - names.begin());
}

}  // namespace barnabas::client
