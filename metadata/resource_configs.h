#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "metadata/image.h"
#include "metadata/static_config.h"

/// Checks of everything that is to be set on one group, or one subscription to client metrics, together.
/// Rules and texts as Apache Kafka 4.4 has them.
namespace barnabas::metadata {

/// Unknown names come first, then each value for itself, then the limits that the broker's settings (static,
/// or set at run time for all brokers) put on groups. ErrorKind::invalid.
Result<void> validate_group_configs(const ConfigImage& values, const MetadataImage& image, NodeId node,
                                    const StaticConfig& static_config);

/// ErrorKind::invalid for a bad value, ErrorKind::unsupported for an unknown name or an interval out of
/// range: Kafka answers them with different codes.
Result<void> validate_client_metrics_configs(const ConfigImage& values);

/// One of what "match" of a subscription to client metrics lists.
struct ClientMatch {
  std::string_view property;  ///< "client_id", "client_source_port", …
  std::string_view pattern;   ///< for the whole of it; should be one of Java's regular expressions
};

/// "client_id=pattern": exactly one '=' with something on both sides, and a property that there is. It points
/// into `item`.
std::optional<ClientMatch> parse_client_match(std::string_view item);

}  // namespace barnabas::metadata
