#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/api_key.h"

namespace barnabas::protocol {

/// What Kafka 4.4 says about one kind of request.
struct ApiInfo {
  ApiKey key;
  std::string_view name;  ///< as Kafka spells it: "CreateTopics"
  int16_t min_version;
  int16_t max_version;
  bool latest_version_unstable;  ///< the newest version is not offered unless unstable ones are turned on
  int16_t first_flexible_version;
  int16_t first_response_header_v1;  ///< first request version that is answered with response header 1
  bool on_broker_listener;
  bool on_controller_listener;
  bool is_cluster_action;  ///< only for brokers and controllers
  bool is_forwardable;     ///< a broker passes it on to the controller

  bool supports(int16_t version) const { return version >= min_version && version <= max_version; }
  /// Also for versions that are not supported, as an ApiVersions request may have one and is answered all the
  /// same.
  int16_t request_header_version(int16_t version) const { return version >= first_flexible_version ? 2 : 1; }
  int16_t response_header_version(int16_t version) const {
    return version >= first_response_header_v1 ? 1 : 0;
  }
};

/// By number on the wire; nothing when Kafka 4.4 does not know it.
std::optional<ApiKey> api_key(int16_t number);
const ApiInfo& api_info(ApiKey key);
inline std::string_view name(ApiKey key) {
  return api_info(key).name;
}
/// Ordered by number.
std::span<const ApiInfo> all_apis();

}  // namespace barnabas::protocol
