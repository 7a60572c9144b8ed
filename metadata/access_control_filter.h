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

/// The filter of a DescribeAcls request, or of an item of a DeleteAcls request, whose texts it borrows.
template <class Request>
AclFilter acl_filter_of(const Request& request) {
  const auto view = [](const auto& text) {
    return text ? std::optional<std::string_view>(text->view()) : std::nullopt;
  };
  return {static_cast<AclResourceType>(request.resource_type_filter),
          view(request.resource_name_filter),
          static_cast<AclPatternType>(request.pattern_type_filter),
          view(request.principal_filter),
          view(request.host_filter),
          static_cast<AclOperation>(request.operation),
          static_cast<AclPermission>(request.permission_type)};
}

/// All entries that the filter matches, in the order of their rules.
void for_each_match(const AccessControlImage& image, const AclFilter& filter,
                    const std::function<void(const std::shared_ptr<const AclEntry>&)>& use);

}  // namespace barnabas::metadata
