#include "app/exposure.h"

#include <boost/asio/ip/address.hpp>

#include "metadata/dynamic_broker_config.h"

namespace barnabas::app {

bool is_loopback(std::string_view host) {
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(host, no_address);
  return no_address ? host == "localhost" : address.is_loopback();
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

std::optional<std::string> http_exposure_warning(const std::vector<std::string>& addresses) {
  std::string open;
  for (const std::string& address : addresses) {
    std::string_view host = std::string_view(address).substr(0, address.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (!is_loopback(host)) open += (open.empty() ? "" : ", ") + address;
  }
  if (open.empty()) return std::nullopt;
  return "everybody who reaches http://" + open +
         " can read metrics, and in them the names of topics, groups and clients; let only the monitoring "
         "reach it, or set http.listeners to 127.0.0.1:9644";
}

}  // namespace barnabas::app
