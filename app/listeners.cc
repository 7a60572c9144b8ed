#include "app/listeners.h"

#include <unistd.h>

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "security/security_protocol.h"

namespace barnabas::app {
namespace {

using security::security_protocol;
using security::SecurityProtocol;

struct Endpoint {
  std::string listener;
  std::string host;
  uint16_t port = 0;
};

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

/// "NAME://host:port"; the host may be empty or in brackets.
Result<Endpoint> parse_endpoint(std::string_view setting, std::string_view text) {
  const auto complain = [&](std::string_view what) {
    return fail(ErrorKind::invalid, std::string(setting) + ": \"" + std::string(text) +
                                        "\": " + std::string(what) + "; expected NAME://host:port");
  };
  const auto scheme = text.find("://");
  const auto colon = text.rfind(':');
  if (scheme == text.npos || scheme == 0) return complain("no listener name");
  if (colon < scheme + 3) return complain("no port");
  const auto port = metadata::parse_integer(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) return complain("the port is not a number from 0 to 65535");
  std::string_view host = text.substr(scheme + 3, colon - scheme - 3);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return Endpoint{upper(text.substr(0, scheme)), std::string(host), static_cast<uint16_t>(*port)};
}

Result<std::vector<Endpoint>> parse_endpoints(const metadata::StaticConfig& config,
                                              std::string_view setting) {
  std::vector<Endpoint> endpoints;
  std::set<std::string> names;
  for (const std::string& item : config.list(setting)) {
    BARNABAS_ASSIGN(Endpoint endpoint, parse_endpoint(setting, item));
    if (!names.insert(endpoint.listener).second)
      return fail(ErrorKind::invalid,
                  std::string(setting) + ": listener " + endpoint.listener + " stands twice");
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

Result<std::map<std::string, SecurityProtocol>> parse_protocol_map(const metadata::StaticConfig& config) {
  std::map<std::string, SecurityProtocol> protocols;
  for (const std::string& item : config.list("listener.security.protocol.map")) {
    const auto colon = item.find(':');
    const auto protocol =
        security_protocol(colon == item.npos ? "" : std::string_view(item).substr(colon + 1));
    if (!protocol)
      return fail(ErrorKind::invalid, "listener.security.protocol.map: \"" + item +
                                          "\": expected NAME:PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL");
    protocols[upper(std::string_view(item).substr(0, colon))] = *protocol;
  }
  return protocols;
}

Result<SecurityProtocol> protocol_of(const std::map<std::string, SecurityProtocol>& protocols,
                                     const std::string& listener) {
  const auto at = protocols.find(listener);
  const auto protocol = at != protocols.end() ? std::optional(at->second) : security_protocol(listener);
  if (!protocol)
    return fail(ErrorKind::invalid, "listeners: no security protocol for listener " + listener + "; add " +
                                        listener + ":PLAINTEXT to listener.security.protocol.map");
  return *protocol;
}

broker::AdvertisedListener advertise(const Endpoint& endpoint, SecurityProtocol protocol) {
  const bool any = endpoint.host.empty() || endpoint.host == "0.0.0.0" || endpoint.host == "::";
  return {endpoint.listener, any ? local_host_name() : endpoint.host, endpoint.port,
          static_cast<int16_t>(protocol)};
}

/// Whether no client anywhere can connect to it: an address of none or of many, or what no name server may
/// ever know (RFC 1035 2.3.4, RFC 6761 6.4).
bool is_nobodys(std::string_view host) {
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(host, no_address);
  if (!no_address)
    return address.is_unspecified() || address.is_multicast() ||
           (address.is_v4() && address.to_v4() == boost::asio::ip::address_v4::broadcast());
  if (host.ends_with('.')) host.remove_suffix(1);
  constexpr std::size_t name_max = 253, label_max = 63;
  if (host.size() > name_max || host == "invalid" || host.ends_with(".invalid")) return true;
  for (const auto label : std::views::split(host, '.'))
    if (label.empty() || label.size() > label_max) return true;
  return std::ranges::any_of(host, [](unsigned char c) { return c <= ' ' || c == '/' || c == 0x7F; });
}

Result<void> check_advertised(const std::vector<Endpoint>& advertised, const Listeners& listeners) {
  for (const Endpoint& endpoint : advertised) {
    const bool bound = std::ranges::find(listeners.bind, endpoint.listener, &network::ListenerConfig::name) !=
                       listeners.bind.end();
    if (!bound)
      return fail(ErrorKind::invalid,
                  "advertised.listeners: " + endpoint.listener + " is not among listeners");
    if (!endpoint.host.empty() && is_nobodys(endpoint.host))
      return fail(ErrorKind::invalid,
                  "advertised.listeners: " + endpoint.listener + "://" + endpoint.host +
                      " is no address that a client can connect to; expected the name or address by "
                      "which clients reach this machine, such as " +
                      endpoint.listener + "://" + local_host_name() + ":" + std::to_string(endpoint.port));
  }
  return {};
}

}  // namespace

std::string local_host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

Result<Listeners> parse_listeners(const metadata::StaticConfig& config) {
  BARNABAS_ASSIGN(const auto endpoints, parse_endpoints(config, "listeners"));
  BARNABAS_ASSIGN(const auto advertised, parse_endpoints(config, "advertised.listeners"));
  BARNABAS_ASSIGN(const auto protocols, parse_protocol_map(config));
  std::set<std::string> controllers;
  for (const std::string& name : config.list("controller.listener.names")) controllers.insert(upper(name));

  Listeners result;
  for (const Endpoint& endpoint : endpoints) {
    if (controllers.contains(endpoint.listener)) {
      result.controller_only.push_back(endpoint.listener);
      const auto known = protocols.find(endpoint.listener);
      if (!result.controller)
        result.controller =
            advertise(endpoint, known == protocols.end() ? SecurityProtocol::plaintext : known->second);
      continue;
    }
    BARNABAS_ASSIGN(const SecurityProtocol protocol, protocol_of(protocols, endpoint.listener));
    network::ListenerConfig listener{endpoint.listener, protocol, endpoint.host, endpoint.port};
    result.bind.push_back(std::move(listener));
    const auto shown = std::ranges::find(advertised, endpoint.listener, &Endpoint::listener);
    result.advertised.push_back(advertise(shown == advertised.end() ? endpoint : *shown, protocol));
  }
  if (result.bind.empty())
    return fail(ErrorKind::invalid,
                "listeners: no listener for clients; expected for example PLAINTEXT://127.0.0.1:9092");
  BARNABAS_TRY(check_advertised(advertised, result));
  return result;
}

void take_bound_ports(std::vector<broker::AdvertisedListener>& advertised,
                      const std::vector<network::BoundListener>& bound) {
  for (broker::AdvertisedListener& listener : advertised) {
    const auto at = std::ranges::find(bound, listener.listener, &network::BoundListener::name);
    if (listener.port == 0 && at != bound.end()) listener.port = at->port;
  }
}

}  // namespace barnabas::app
