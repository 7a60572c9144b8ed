#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "metadata/static_config.h"
#include "network/server.h"
#include "security/sasl_session.h"

namespace barnabas::app {

using SaslListeners = std::map<std::string, security::SaslListener, std::less<>>;

/// What each of `listeners` that asks for SASL asks for, by its name: sasl.enabled.mechanisms with the
/// settings of each mechanism, sasl.server.max.receive.size, connections.max.reauth.ms; with prefixes as
/// Kafka has them. Empty when none does. Errors name setting, place and what is allowed, and no value that is
/// a secret.
Result<SaslListeners> sasl_listeners(const metadata::StaticConfig& config,
                                     const std::vector<network::ListenerConfig>& listeners,
                                     const security::SaslSources& sources);

/// inter.broker.listener.name, security.inter.broker.protocol and sasl.mechanism.inter.broker.protocol. A
/// broker on its own talks to no other; they are held to what Kafka asks of them, so that they will do when
/// it has others.
Result<void> check_inter_broker_settings(const metadata::StaticConfig& config,
                                         const std::vector<network::ListenerConfig>& listeners);

}  // namespace barnabas::app
