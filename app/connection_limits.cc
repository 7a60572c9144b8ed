#include "app/connection_limits.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

#include "base/log.h"
#include "metadata/dynamic_broker_config.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

uint32_t count(int64_t value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, INT32_MAX));
}

/// Addresses in the spelling that peers of connections have. No look-up happens with AI_NUMERICHOST as flag.
std::vector<std::string> addresses_of(std::string_view host, int flags) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  if (::getaddrinfo(std::string(host).c_str(), nullptr, &hints, &list) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(at->ai_addr, at->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
      addresses.emplace_back(text.data());
  }
  return addresses;
}

std::string listener_setting(const network::ListenerConfig& listener, const std::string& setting) {
  return metadata::listener_prefix(listener.name) + setting;
}

constexpr const char* rate_setting = "max.connection.creation.rate";
/// What a rate of 0 means: hardly any.
constexpr double slowest_rate = 0.001;

}  // namespace

bool has_host_names(std::string_view overrides) {
  const auto parsed = metadata::parse_connection_overrides(overrides);
  return parsed && std::ranges::any_of(*parsed, [](const metadata::ConnectionOverride& item) {
           return addresses_of(item.host, AI_NUMERICHOST).empty();
         });
}

network::ConnectionLimits connection_limits(const metadata::BrokerConfigView& settings,
                                            const std::vector<network::ListenerConfig>& listeners) {
  network::ConnectionLimits limits;
  limits.total = count(settings.integer("max.connections"));
  limits.per_address = count(settings.integer("max.connections.per.ip"));
  const auto overrides =
      metadata::parse_connection_overrides(settings.text("max.connections.per.ip.overrides"));
  for (const auto& item : overrides.value_or(std::vector<metadata::ConnectionOverride>()))
    for (std::string& address : addresses_of(item.host, AI_NUMERICHOST))
      limits.of_address[std::move(address)] = count(item.count);
  for (const network::ListenerConfig& listener : listeners)
    if (const auto own = settings.value(listener_setting(listener, "max.connections")))
      limits.of_listener[listener.name] = count(metadata::parse_integer(*own).value_or(INT32_MAX));
  return limits;
}

network::ConnectionRateLimits connection_rate_limits(const metadata::BrokerConfigView& settings,
                                                     const std::vector<network::ListenerConfig>& listeners) {
  network::ConnectionRateLimits limits;
  const auto limited = [](int64_t rate) -> std::optional<double> {
    if (rate >= INT32_MAX) return std::nullopt;
    return std::max<double>(static_cast<double>(rate), slowest_rate);
  };
  limits.total = limited(settings.integer(rate_setting));
  for (const network::ListenerConfig& listener : listeners)
    if (const auto own = settings.value(listener_setting(listener, rate_setting)))
      if (const auto rate = limited(metadata::parse_integer(*own).value_or(INT32_MAX)))
        limits.of_listener[listener.name] = *rate;
  return limits;
}

std::vector<std::string> connection_rate_names(const std::vector<network::ListenerConfig>& listeners) {
  std::vector<std::string> names{rate_setting};
  for (const network::ListenerConfig& listener : listeners)
    names.push_back(listener_setting(listener, rate_setting));
  return names;
}

void apply_address_quotas(const metadata::MetadataChanges& changes, const metadata::MetadataImage& image,
                          network::Server& server) {
  for (const metadata::QuotaEntity& entity : changes.changed_quotas) {
    const auto part = entity.find(metadata::quota_ip);
    if (part == entity.end() || entity.size() != 1) continue;
    std::optional<std::string> address;
    if (part->second) {
      const auto spelt = addresses_of(*part->second, AI_NUMERICHOST);
      if (spelt.size() != 1) {
        log_.warn("a quota of connections is without effect, since it names no address ip={}",
                  log_text(*part->second));
        continue;
      }
      address = spelt.front();
    }
    std::optional<double> limit;
    if (const auto* quotas = image.client_quotas.find(entity)) {
      const auto value = (*quotas)->values.find(metadata::connection_creation_rate);
      if (value != (*quotas)->values.end() && value->second > 0) limit = value->second;
    }
    server.set_address_rate_limit(address, limit);
  }
}

void add_host_names(network::ConnectionLimits& limits, std::string_view overrides) {
  const auto parsed = metadata::parse_connection_overrides(overrides);
  for (const auto& item : parsed.value_or(std::vector<metadata::ConnectionOverride>())) {
    if (!addresses_of(item.host, AI_NUMERICHOST).empty()) continue;
    auto addresses = addresses_of(item.host, 0);
    if (addresses.empty())
      log_.warn("no address, so no limit either setting=max.connections.per.ip.overrides host={}",
                log_text(item.host));
    for (std::string& address : addresses) limits.of_address[std::move(address)] = count(item.count);
  }
}

std::vector<std::string> connection_limit_names(const std::vector<network::ListenerConfig>& listeners) {
  std::vector<std::string> names{"max.connections", "max.connections.per.ip",
                                 "max.connections.per.ip.overrides"};
  for (const network::ListenerConfig& listener : listeners)
    names.push_back(listener_setting(listener, "max.connections"));
  return names;
}

}  // namespace barnabas::app
