#include "app/exposure.h"

#include "metadata/dynamic_broker_config.h"

namespace barnabas::app {

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "0:0:0:0:0:0:0:1" || host.starts_with("127.");
}

namespace {

bool asks_for_certificate(const network::ListenerConfig& listener, const metadata::StaticConfig& config) {
  if (listener.security_protocol != security::SecurityProtocol::ssl) return false;
  const auto own = metadata::listener_prefix(listener.name) + "ssl.client.auth";
  const auto* given = config.given(own);
  return (given != nullptr ? given->value : config.text("ssl.client.auth")) == "required";
}

}  // namespace

std::optional<std::string> exposure_warning(const std::vector<network::ListenerConfig>& listeners,
                                            const metadata::StaticConfig& config) {
  std::string open;
  for (const network::ListenerConfig& listener : listeners) {
    if (is_loopback(listener.host) || security::authenticates_by_sasl(listener.security_protocol) ||
        asks_for_certificate(listener, config))
      continue;
    open += (open.empty() ? "" : ", ") + listener.name + "://" +
            (listener.host.empty() ? "0.0.0.0" : listener.host) + ":" + std::to_string(listener.port);
  }
  if (open.empty()) return std::nullopt;
  return "everybody who reaches " + open +
         " is let in without being asked who it is. To secure it: 1. give the broker a certificate "
         "(ssl.keystore.location), 2. make it a SASL_SSL listener and create a user (barnabas format "
         "--add-scram), 3. set authorizer.class.name and super.users. docs/security.md has the three steps";
}

}  // namespace barnabas::app
