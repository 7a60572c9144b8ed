#include "app/sasl_settings.h"

#include <algorithm>
#include <cctype>

#include "app/setting_error.h"
#include "security/security_protocol.h"

namespace barnabas::app {
namespace {

using metadata::StaticConfig;
using network::ListenerConfig;
using security::MechanismSettings;

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

Result<security::SaslListener> sasl_listener(const StaticConfig& config, const ListenerConfig& listener,
                                             const security::SaslSources& sources) {
  const MechanismSettings common(config, listener.name, "");
  security::SaslListener result;
  BARNABAS_ASSIGN(const int64_t bytes_max, common.integer("sasl.server.max.receive.size"));
  if (bytes_max <= 0) return common.refuse("sasl.server.max.receive.size", "expected a number above 0");
  result.message_bytes_max = static_cast<std::size_t>(bytes_max);
  for (const std::string& name : common.list("sasl.enabled.mechanisms")) {
    const MechanismSettings settings(config, listener.name, name);
    auto& mechanism = result.mechanisms.emplace_back();
    mechanism.name = name;
    BARNABAS_ASSIGN(mechanism.serve, security::make_sasl_mechanism(settings, sources));
    BARNABAS_ASSIGN(const int64_t session_max, settings.integer("connections.max.reauth.ms"));
    // More than a century would not fit into a time.
    constexpr int64_t for_ever = int64_t{1} << 41;
    mechanism.session_max = std::chrono::milliseconds(std::clamp<int64_t>(session_max, 0, for_ever));
  }
  if (result.mechanisms.empty())
    return common.refuse("sasl.enabled.mechanisms",
                         "no mechanism, so nobody could log in to listener " + listener.name);
  return result;
}

}  // namespace

Result<SaslListeners> sasl_listeners(const StaticConfig& config, const std::vector<ListenerConfig>& listeners,
                                     const security::SaslSources& sources) {
  SaslListeners result;
  for (const ListenerConfig& listener : listeners) {
    if (!security::authenticates_by_sasl(listener.security_protocol)) continue;
    BARNABAS_ASSIGN(auto settings, sasl_listener(config, listener, sources));
    result.emplace(listener.name, std::move(settings));
  }
  return result;
}

Result<void> check_inter_broker_settings(const StaticConfig& config,
                                         const std::vector<ListenerConfig>& listeners) {
  constexpr std::string_view by_name = "inter.broker.listener.name";
  constexpr std::string_view by_protocol = "security.inter.broker.protocol";
  constexpr std::string_view mechanism_name = "sasl.mechanism.inter.broker.protocol";
  const auto refuse = [&](std::string_view name, std::string_view why) {
    return setting_error(ErrorKind::invalid, config, name, why);
  };
  const bool has_name = config.given(by_name) != nullptr;
  const bool has_protocol = config.given(by_protocol) != nullptr;
  if (has_name && has_protocol)
    return refuse(by_protocol, "inter.broker.listener.name is set, too; expected only one of them");
  if (!has_name && !has_protocol) return {};
  const std::string name = upper(config.text(has_name ? by_name : by_protocol));
  const auto used = std::ranges::find(listeners, name, &ListenerConfig::name);
  if (used == listeners.end())
    return refuse(has_name ? by_name : by_protocol, "expected the name of one of listeners");
  if (!security::authenticates_by_sasl(used->security_protocol)) return {};
  const auto enabled = MechanismSettings(config, used->name, "").list("sasl.enabled.mechanisms");
  const std::string wanted = MechanismSettings(config, used->name, "").text(mechanism_name);
  if (config.given(mechanism_name) != nullptr && std::ranges::find(enabled, wanted) == enabled.end())
    return refuse(mechanism_name, "expected one of sasl.enabled.mechanisms of listener " + used->name);
  return {};
}

}  // namespace barnabas::app
