#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "client/cluster.h"

namespace barnabas::client {

/// Whether records can be written to this topic, and to this partition of it if one is given: looks it up,
/// has it made where brokers make topics when they are asked for them and `may_create`, and connects to those
/// who lead it, by the addresses that they advertise. Some may be away for a while, but not all of them.
Result<void> check_target(Cluster& cluster, const std::string& topic, std::optional<int32_t> partition,
                          bool may_create);

}  // namespace barnabas::client
