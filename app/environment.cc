#include "app/environment.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace barnabas::app {
namespace {

/// Variables that configure the scripts, the JVM or log4j around a Java broker.
constexpr auto not_settings = std::to_array<std::string_view>({
    "KAFKA_VERSION",
    "KAFKA_HEAP_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_OPTS",
    "KAFKA_JMX_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_JMX_PORT",
    "KAFKA_HOME",
    "KAFKA_DEBUG",
    // Of images that needed ZooKeeper, or chose not to.
    "KAFKA_ZOOKEEPER_CONNECT",
    "KAFKA_ENABLE_KRAFT",
    "KAFKA_CFG_ZOOKEEPER_CONNECT",
    // Files in a directory: secret_files.h.
    "KAFKA_SSL_KEYSTORE_FILENAME",
    "KAFKA_SSL_KEYSTORE_CREDENTIALS",
    "KAFKA_SSL_KEY_CREDENTIALS",
    "KAFKA_SSL_TRUSTSTORE_FILENAME",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS",
});

bool is_kubernetes_service_link(std::string_view variable) {
  return variable == "KAFKA_PORT" || variable.starts_with("KAFKA_PORT_") ||
         variable == "KAFKA_SERVICE_HOST" || variable.starts_with("KAFKA_SERVICE_PORT");
}

}  // namespace

std::optional<EnvironmentSetting> setting_of_variable(std::string_view variable, std::string_view value) {
  constexpr std::string_view prefix = "KAFKA_";
  constexpr std::string_view alias = "KAFKA_CFG_";
  if (!variable.starts_with(prefix) || std::ranges::find(not_settings, variable) != not_settings.end() ||
      is_kubernetes_service_link(variable) || variable.starts_with("KAFKA_REST_"))
    return std::nullopt;
  std::string_view rest = variable.substr(variable.starts_with(alias) ? alias.size() : prefix.size());
  std::string name;
  while (!rest.empty()) {
    const std::size_t underscores = std::min(rest.find_first_not_of('_'), rest.size());
    if (underscores == 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(rest.front())));
      rest.remove_prefix(1);
      continue;
    }
    const std::size_t taken = std::min<std::size_t>(underscores, 3);
    name += taken == 1 ? '.' : taken == 2 ? '_' : '-';
    rest.remove_prefix(taken);
  }
  return EnvironmentSetting{std::string(variable), std::move(name), std::string(value)};
}

std::vector<EnvironmentSetting> settings_of_environment(const char* const* environment) {
  std::vector<EnvironmentSetting> settings;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    if (auto setting = setting_of_variable(entry.substr(0, equals), entry.substr(equals + 1)))
      settings.push_back(std::move(*setting));
  }
  std::ranges::sort(settings, {}, &EnvironmentSetting::variable);
  return settings;
}

}  // namespace barnabas::app
