#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/services.h"
#include "metadata/static_config.h"
#include "network/server.h"

namespace barnabas::app {

struct Listeners {
  std::vector<network::ListenerConfig> bind;  ///< what clients connect to
  std::vector<broker::AdvertisedListener>
      advertised;                            ///< by listener name; port 0 where the bound one is meant
  std::vector<std::string> controller_only;  ///< listeners of the controller role, which nobody needs here
  /// Where the first of them would be reached: written to the metadata log, for Kafka to find it there.
  std::optional<broker::AdvertisedListener> controller;
};

/// Reads listeners, advertised.listeners, listener.security.protocol.map and controller.listener.names.
/// Errors name the setting, the item and what is allowed.
Result<Listeners> parse_listeners(const metadata::StaticConfig& config);

/// Puts the bound ports where the configuration left them to the system.
void take_bound_ports(std::vector<broker::AdvertisedListener>& advertised,
                      const std::vector<network::BoundListener>& bound);

/// This machine's name, for a listener on all interfaces that has no advertised address.
std::string local_host_name();

}  // namespace barnabas::app
