#include "metadata/access_control_image.h"

#include <array>
#include <cstddef>

namespace barnabas::metadata {
namespace {

template <class Number, std::size_t count>
std::string_view lookup(const std::array<std::string_view, count>& names, Number number) {
  const auto at = static_cast<std::size_t>(static_cast<uint8_t>(number));
  return at < count ? names[at] : names[0];
}

}  // namespace

std::string_view name_of(AclResourceType type) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"});
  return lookup(names, type);
}

std::string_view name_of(AclPatternType type) {
  static constexpr auto names =
      std::to_array<std::string_view>({"UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED"});
  return lookup(names, type);
}

std::string_view name_of(AclOperation operation) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
       "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
       "TWO_PHASE_COMMIT"});
  return lookup(names, operation);
}

std::string_view name_of(AclPermission permission) {
  static constexpr auto names = std::to_array<std::string_view>({"UNKNOWN", "ANY", "DENY", "ALLOW"});
  return lookup(names, permission);
}

void AccessControlImage::put(std::shared_ptr<const AclEntry> entry) {
  erase(entry->id);
  by_rule.put(entry);
  by_id.put(std::move(entry));
}

void AccessControlImage::erase(const Uuid& id) {
  const auto* found = by_id.find(id);
  if (found == nullptr) return;
  const auto entry = *found;
  by_rule.erase(*entry);
  by_id.erase(id);
}

}  // namespace barnabas::metadata
