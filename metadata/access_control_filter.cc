#include "metadata/access_control_filter.h"

namespace barnabas::metadata {
namespace {

bool name_matches(const AclFilter& filter, const AclRule& rule) {
  if (!filter.resource_name) return true;
  const std::string_view name = *filter.resource_name;
  if (filter.pattern_type != AclPatternType::match) return name == rule.resource_name;
  if (rule.pattern_type == AclPatternType::literal)
    return name == rule.resource_name || rule.resource_name == acl_wildcard;
  return rule.pattern_type == AclPatternType::prefixed && name.starts_with(rule.resource_name);
}

}  // namespace

bool AclFilter::matches(const AclRule& rule) const {
  if (resource_type != AclResourceType::any && resource_type != rule.resource_type) return false;
  if (pattern_type != AclPatternType::any && pattern_type != AclPatternType::match &&
      pattern_type != rule.pattern_type)
    return false;
  if (!name_matches(*this, rule)) return false;
  if (principal && *principal != rule.principal) return false;
  if (host && *host != rule.host) return false;
  if (operation != AclOperation::any && operation != rule.operation) return false;
  return permission == AclPermission::any || permission == rule.permission;
}

void for_each_match(const AccessControlImage& image, const AclFilter& filter,
                    const std::function<void(const std::shared_ptr<const AclEntry>&)>& use) {
  for (const auto& entry : image.by_rule)
    if (filter.matches(entry->rule)) use(entry);
}

}  // namespace barnabas::metadata
