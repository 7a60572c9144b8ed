#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace barnabas::metadata {

/// Whom quotas are for: names by type ("user", "client-id", "ip"). Null stands for all of the type that have
/// none of their own (KIP-546).
using QuotaEntity = std::map<std::string, std::optional<std::string>, std::less<>>;

inline constexpr std::string_view quota_user = "user";
inline constexpr std::string_view quota_client_id = "client-id";
inline constexpr std::string_view quota_ip = "ip";

inline constexpr std::string_view producer_byte_rate = "producer_byte_rate";  ///< bytes a second
inline constexpr std::string_view consumer_byte_rate = "consumer_byte_rate";  ///< bytes a second
inline constexpr std::string_view request_percentage = "request_percentage";  ///< of one thread's time
inline constexpr std::string_view controller_mutation_rate = "controller_mutation_rate";  ///< a second
inline constexpr std::string_view connection_creation_rate = "connection_creation_rate";  ///< a second

/// What was set for one entity; never empty.
struct QuotaImage {
  QuotaEntity entity;
  std::map<std::string, double, std::less<>> values;
};

}  // namespace barnabas::metadata
