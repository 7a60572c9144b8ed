#include "app/configuration.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include "base/log.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

Result<void> set_all(metadata::StaticConfig& config, const std::string& file, std::string_view text) {
  const auto properties = parse_settings(text);
  if (!properties) return fail(file, properties.error());
  for (const Property& property : *properties)
    BARNABAS_TRY(config.set(property.name, property.value, file + ":" + std::to_string(property.line)));
  return {};
}

Result<void> apply_override(metadata::StaticConfig& config, const std::string& text) {
  const auto equals = text.find('=');
  // Of what stands there instead nothing is repeated: it may be a password.
  if (equals == std::string::npos || equals == 0)
    return fail(ErrorKind::invalid, "--override: expected name=value, with a name in front of the first =");
  return config.set(text.substr(0, equals), text.substr(equals + 1), "--override");
}

/// Container images leave "listeners" to be derived: the advertised addresses, bound on all interfaces.
Result<void> derive_listeners(metadata::StaticConfig& config) {
  const auto* advertised = config.given("advertised.listeners");
  if (advertised == nullptr || config.given("listeners") != nullptr) return {};
  std::string derived;
  for (std::string_view item : metadata::split_list(advertised->value)) {
    const auto host = item.find("://");
    const auto port = item.rfind(':');
    if (host == item.npos || port == item.npos || port <= host) continue;
    if (!derived.empty()) derived += ',';
    derived += std::string(item.substr(0, host)) + "://0.0.0.0" + std::string(item.substr(port));
  }
  return config.set("listeners", derived, advertised->origin + " (derived)");
}

/// Whoever says in so many words that no number of records is worth a sync asks for Kafka's trade; start
/// scripts for tests do.
Result<void> derive_flush_before_ack(metadata::StaticConfig& config) {
  const auto* interval = config.given("log.flush.interval.messages");
  if (interval == nullptr || config.given("log.flush.before.ack") != nullptr) return {};
  if (metadata::parse_integer(interval->value) != std::numeric_limits<int64_t>::max()) return {};
  return config.set("log.flush.before.ack", "false", interval->origin + " (derived)");
}

}  // namespace

Result<std::vector<Property>> parse_settings(std::string_view text) {
  // Editors that put a byte order mark there do not show it.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return parse_properties(text);
}

Result<std::string> read_settings_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  // Not by iterators: those throw what a directory makes of being read.
  for (char part[4096]; file && (file.read(part, sizeof part), file.gcount() > 0);)
    text.append(part, static_cast<std::size_t>(file.gcount()));
  if (!file.eof())
    return fail(ErrorKind::not_found,
                path + ": cannot be read: " + (errno != 0 ? std::strerror(errno) : "input/output error") +
                    "; expected a server.properties file");
  return text;
}

std::string_view embedded_configuration() {
  return "process.roles=broker,controller\n"
         "node.id=1\n"
         "listeners=PLAINTEXT://127.0.0.1:9092\n"
         "log.dirs=data\n";
}

Result<metadata::StaticConfig> load_configuration(const ConfigurationSources& sources,
                                                  std::vector<std::string>* ignored) {
  metadata::StaticConfig config;
  if (sources.file.empty()) {
    BARNABAS_TRY(set_all(config, "embedded default", embedded_configuration()));
  } else {
    BARNABAS_TRY(set_all(config, sources.file, sources.file_text));
  }
  // The embedded listeners must not hide those that the environment's advertised addresses imply.
  bool advertised_in_environment = false;
  bool listeners_in_environment = false;
  for (const EnvironmentSetting& setting : sources.environment) {
    const auto set = config.set(setting.name, setting.value, setting.variable);
    // What else begins with KAFKA_ in a container is as often somebody's own as it is a mistake.
    if (!set && set.error().kind == ErrorKind::not_found) {
      if (ignored != nullptr)
        ignored->push_back(set.error().message);
      else
        log_.warn("ignored: {}", set.error().message);
      continue;
    }
    BARNABAS_TRY(set);
    advertised_in_environment |= setting.name == "advertised.listeners";
    listeners_in_environment |= setting.name == "listeners";
  }
  if (sources.file.empty() && advertised_in_environment && !listeners_in_environment)
    config.forget("listeners");
  for (const std::string& text : sources.overrides) BARNABAS_TRY(apply_override(config, text));
  BARNABAS_TRY(derive_listeners(config));
  BARNABAS_TRY(derive_flush_before_ack(config));
  return config;
}

}  // namespace barnabas::app
