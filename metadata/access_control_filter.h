#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "metadata/access_control_image.h"

namespace barnabas::metadata {

/// Which entries DescribeAcls and DeleteAcls mean. Borrows its texts.
struct AclFilter {
  AclResourceType resource_type = AclResourceType::any;
  std::optional<std::string_view> resource_name;  ///< nothing: any
  AclPatternType pattern_type = AclPatternType::any;
  std::optional<std::string_view> principal;
  std::optional<std::string_view> host;
  AclOperation operation = AclOperation::any;
  AclPermission permission = AclPermission::any;

  /// Whether it matches the entry, as in Kafka: with AclPatternType::match all patterns that apply to a
  /// resource of that name.
  bool matches(const AclRule& rule) const;
};

/// All entries that the filter matches, in the order of their rules.
void for_each_match(const AccessControlImage& image, const AclFilter& filter,
                    const std::function<void(const std::shared_ptr<const AclEntry>&)>& use);

}  // namespace barnabas::metadata
