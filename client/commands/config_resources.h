#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/answer.h"
#include "client/cluster.h"

namespace barnabas::client {

/// What has settings, with the numbers of the protocol.
struct ConfigResource {
  int8_t type = 0;
  std::string name;
};
/// "topic", "broker", "broker-logger", "client-metrics", "group"; nothing for other words.
std::optional<int8_t> config_resource_type(std::string_view word);
inline constexpr int8_t broker_logger_type = 8;

Result<int32_t> parse_broker_id(const std::string& text);

/// A row for each setting: name, value, source …; `all`: also those at their defaults.
Result<Json> read_configs(Cluster& cluster, const ConfigResource& resource,
                          const std::vector<std::string>& names, bool all);

/// Sets, or with nothing takes away what was set. The error, if any, of the resource.
struct ConfigChange {
  std::string name;
  std::optional<std::string> value;
};
Result<Answer> change_configs(Cluster& cluster, const ConfigResource& resource,
                              const std::vector<ConfigChange>& changes, bool dry_run);

}  // namespace barnabas::client
