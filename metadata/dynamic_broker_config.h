#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metadata/image.h"
#include "metadata/static_config.h"

/// Broker settings that are changed at run time (KIP-226): which may be, and to what.
namespace barnabas::metadata {

/// "listener.name.plaintext.max.connections" is max.connections of one listener. The name itself when it has
/// no such prefix.
std::string_view without_listener_prefix(std::string_view name);
/// "listener.name.ssl." of listener "SSL".
std::string listener_prefix(std::string_view listener);

/// Whether it is one of the key and trust stores, which a listener may have changed by its prefix while it
/// runs. `name` is without the prefix.
bool is_store_setting(std::string_view name);

/// Checks everything that is to be set on `node` (per_broker) or on all brokers, as a broker of Apache
/// Kafka 4.4 does before it asks the controller: names that only a settings file may hold, values, and what
/// the settings then in force together would mean here (thread counts may double or halve, listeners may not
/// change, …). Names that nobody knows are allowed: plug-ins have settings of their own. ErrorKind::invalid,
/// with the sentence for the answer.
Result<void> validate_dynamic_broker_configs(const std::map<std::string, std::string, std::less<>>& values,
                                             bool per_broker, const MetadataImage& image, NodeId node,
                                             const StaticConfig& static_config);

/// "host:count,host:count", as max.connections.per.ip.overrides holds it. Anything else is
/// ErrorKind::invalid; so is a count below zero.
struct ConnectionOverride {
  std::string host;
  int32_t count = 0;
};
Result<std::vector<ConnectionOverride>> parse_connection_overrides(std::string_view text);

}  // namespace barnabas::metadata
