#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metadata/static_config.h"
#include "network/server.h"

namespace barnabas::app {

/// Whether only this machine is reached by it. `host` without brackets.
bool is_loopback(std::string_view host);

/// One line for the log when a listener lets everybody in who reaches it from another machine: which
/// listeners, what that means, and the three steps of docs/security.md. Nothing when each listener is on
/// loopback, asks for SASL, or asks for a certificate.
std::optional<std::string> exposure_warning(const std::vector<network::ListenerConfig>& listeners,
                                            const metadata::StaticConfig& config);

/// One line when an address of http.listeners ("0.0.0.0:9644") is reached from other machines: nobody is
/// asked there who it is.
std::optional<std::string> http_exposure_warning(const std::vector<std::string>& addresses);

}  // namespace barnabas::app
