#pragma once

#include <cstdint>
#include <string_view>

#include "base/types.h"

namespace barnabas::broker {

/// Java's String.hashCode of what Java makes of these bytes (UTF-8; each piece that is none becomes U+FFFD).
int32_t java_hash(std::string_view text);

/// Which partition of a coordinators' topic has this group, or transactional id.
PartitionIndex partition_of_key(std::string_view key, int32_t partition_count);

}  // namespace barnabas::broker
