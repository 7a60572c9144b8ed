#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metadata/effective_broker_config.h"
#include "metadata/publisher.h"
#include "network/server.h"

namespace barnabas::app {

/// max.connections, max.connections.per.ip and its overrides, and listener.name.<name>.max.connections of
/// `listeners`, as they are in force. Hosts of overrides that are no numeric addresses are left out.
network::ConnectionLimits connection_limits(const metadata::BrokerConfigView& settings,
                                            const std::vector<network::ListenerConfig>& listeners);

/// max.connection.creation.rate and listener.name.<name>.max.connection.creation.rate, as they are in force.
network::ConnectionRateLimits connection_rate_limits(const metadata::BrokerConfigView& settings,
                                                     const std::vector<network::ListenerConfig>& listeners);
/// The settings that connection_rate_limits looks at.
std::vector<std::string> connection_rate_names(const std::vector<network::ListenerConfig>& listeners);

/// Gives the server the quotas of addresses that changed.
void apply_address_quotas(const metadata::MetadataChanges& changes, const metadata::MetadataImage& image,
                          network::Server& server);

/// Adds the hosts that were left out; a warning for each that has no address. Looks them up, so it may block.
void add_host_names(network::ConnectionLimits& limits, std::string_view overrides);

/// The settings that connection_limits looks at.
std::vector<std::string> connection_limit_names(const std::vector<network::ListenerConfig>& listeners);

/// Whether an override names a host instead of an address.
bool has_host_names(std::string_view overrides);

}  // namespace barnabas::app
