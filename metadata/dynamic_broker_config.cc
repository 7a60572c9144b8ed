#include "metadata/dynamic_broker_config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <set>

#include "metadata/config_definitions.h"
#include "metadata/effective_broker_config.h"

namespace barnabas::metadata {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

/// Only a listener may have these, by its prefix.
constexpr auto store_settings = std::to_array<std::string_view>({
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
});

/// Settings of a listener that may be the same on all brokers.
constexpr auto cluster_level_of_listeners = std::to_array<std::string_view>(
    {"max.connection.creation.rate", "max.connections", "num.network.threads"});

/// Pools that may at most double, or shrink to a half, with one change.
constexpr auto thread_counts = std::to_array<std::string_view>({
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
});

template <std::size_t n>
bool contains(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::unexpected<Error> refuse(std::string text) {
  return fail(ErrorKind::invalid, std::move(text));
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "[" : ", ") + name;
  return text + "]";
}

bool only_per_broker(std::string_view name) {
  const std::string_view base = without_listener_prefix(name);
  if (base != name) return !contains(cluster_level_of_listeners, base);
  const ConfigDefinition* definition = find_broker_config(name);
  return definition != nullptr && definition->update_mode == UpdateMode::per_broker;
}

/// Each name and value for itself.
class NameCheck {
 public:
  NameCheck(const Values& values, bool per_broker) : values_(values), per_broker_(per_broker) {}

  Result<void> run() const {
    BARNABAS_TRY(refuse_those([](std::string_view name) { return is_static(name); },
                              "Cannot update these configs dynamically: "));
    BARNABAS_TRY(
        refuse_those([](std::string_view name) { return is_store_setting(name); },
                     "These security configs can be dynamically updated only per-listener using the listener "
                     "prefix: "));
    for (const auto& [name, value] : values_) BARNABAS_TRY(check_value(name, value));
    if (per_broker_) return {};
    return refuse_those(
        only_per_broker,
        "Cannot update these configs at default cluster level, broker id must be specified: ");
  }

 private:
  static bool is_static(std::string_view name) {
    const ConfigDefinition* definition = find_broker_config(name);
    return definition != nullptr && definition->update_mode == UpdateMode::read_only;
  }

  template <class Wrong>
  Result<void> refuse_those(Wrong is_wrong, std::string_view text) const {
    std::vector<std::string> found;
    for (const auto& [name, value] : values_)
      if (is_wrong(name)) found.push_back(name);
    if (found.empty()) return {};
    return refuse(std::string(text) + joined(found));
  }

  static Result<void> check_value(std::string_view name, const std::string& value) {
    const ConfigDefinition* definition = find_broker_config(without_listener_prefix(name));
    if (definition == nullptr || definition->update_mode == UpdateMode::read_only) return {};
    BARNABAS_TRY(validate_config(*definition, value));
    // There is no Java here to load classes of others.
    if (definition->type == ConfigType::class_name &&
        value != std::string_view(definition->default_value ? definition->default_value : ""))
      return refuse("Invalid value " + value + " for configuration " + std::string(definition->name) +
                    ": Class " + value + " could not be found.");
    return {};
  }

  const Values& values_;
  const bool per_broker_;
};

/// Settings of one listener that may change while it is open, besides those of its stores.
constexpr auto changeable_of_listeners = std::to_array<std::string_view>(
    {"max.connection.creation.rate", "max.connections", "num.network.threads"});

/// What the settings would mean together.
class WholeCheck {
 public:
  WholeCheck(const MetadataImage& before, const MetadataImage& after, NodeId node,
             const StaticConfig& static_config)
      : before_(before, node, static_config),
        after_(after, node, static_config),
        static_config_(static_config) {}

  Result<void> run() const {
    for (const std::string_view name : thread_counts) BARNABAS_TRY(check_threads(name));
    BARNABAS_TRY(check_retention());
    BARNABAS_TRY(check_connections());
    BARNABAS_TRY(check_listeners());
    BARNABAS_TRY(check_reporters());
    BARNABAS_TRY(check_cordoned());
    const int64_t cleaners = after_.integer("log.cleaner.threads");
    if (after_.integer("log.cleaner.dedupe.buffer.size") / std::max<int64_t>(cleaners, 1) <= 1024 * 1024)
      return refuse("log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.");
    return {};
  }

 private:
  Result<void> check_threads(std::string_view name) const {
    const int64_t now = before_.integer(name);
    const int64_t next = after_.integer(name);
    if (now == next) return {};
    const std::string failed =
        "Invalid dynamic configuration: Dynamic thread count update validation failed for " +
        std::string(name) + "=" + std::to_string(next) + ", value should ";
    if (next <= 0) return refuse(failed + "be at least 1");
    if (next < now / 2) return refuse(failed + "be at least half the current value " + std::to_string(now));
    if (next > now * 2)
      return refuse(failed + "not be greater than double the current value " + std::to_string(now));
    return {};
  }

  Result<void> check_retention() const {
    if (after_.value("log.retention.ms") == "0")
      return refuse("log.retention.ms must be unlimited (-1) or, greater than or equal to 1");
    int64_t retention = after_.integer("log.retention.ms");
    if (!after_.value("log.retention.ms")) {
      const auto minutes = after_.value("log.retention.minutes");
      retention = minutes ? after_.integer("log.retention.minutes") * 60'000
                          : after_.integer("log.retention.hours") * 3'600'000;
    }
    BARNABAS_TRY(check_local("log.local.retention.ms", "log.retention.ms", std::max<int64_t>(retention, -1)));
    return check_local("log.local.retention.bytes", "log.retention.bytes",
                       after_.integer("log.retention.bytes"));
  }

  Result<void> check_local(std::string_view name, std::string_view whole_name, int64_t whole) const {
    const int64_t local = after_.integer(name);
    if (whole < 0 || local == -2) return {};
    const std::string bad = "Invalid dynamic configuration: Invalid value " + std::to_string(local) +
                            " for configuration " + std::string(name) + ": Value must not be ";
    if (local == -1)
      return refuse(bad + "-1 as " + std::string(whole_name) + " value is set as " + std::to_string(whole) +
                    ".");
    if (local > whole)
      return refuse(bad + "more than " + std::string(whole_name) +
                    " property value: " + std::to_string(whole));
    return {};
  }

  Result<void> check_connections() const {
    const auto overrides = parse_connection_overrides(after_.text("max.connections.per.ip.overrides"));
    if (!overrides) return std::unexpected(overrides.error());
    if (after_.integer("max.connections.per.ip") == 0 && overrides->empty())
      return refuse(
          "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is "
          "set.");
    return {};
  }

  /// Sockets are opened at start, and clients know the addresses from the registration.
  Result<void> check_listeners() const {
    if (after_.value("listeners") != before_.value("listeners"))
      return refuse(
          "Invalid dynamic configuration: listeners cannot be changed while the broker runs; it has " +
          before_.text("listeners"));
    const auto next = protocols(after_.text("listener.security.protocol.map"));
    for (const auto& [listener, protocol] : protocols(before_.text("listener.security.protocol.map"))) {
      if (!is_listener(listener)) continue;
      const auto found = next.find(listener);
      if (found == next.end() || found->second != protocol)
        return refuse(
            "Invalid dynamic configuration: Security protocol cannot be updated for existing listener " +
            listener);
    }
    return {};
  }

  static std::map<std::string, std::string> protocols(std::string_view map) {
    std::map<std::string, std::string> result;
    for (const std::string_view item : split_list(map)) {
      const auto colon = item.find(':');
      if (colon != item.npos) result[std::string(item.substr(0, colon))] = item.substr(colon + 1);
    }
    return result;
  }

  bool is_listener(std::string_view name) const {
    const std::string listeners = before_.text("listeners");
    return std::ranges::any_of(split_list(listeners), [&](std::string_view item) {
      return item.starts_with(name) && item.substr(name.size()).starts_with("://");
    });
  }

  Result<void> check_reporters() const {
    constexpr std::string_view own = "org.apache.kafka.common.metrics.JmxReporter";
    const std::string reporters = after_.text("metric.reporters");
    for (const std::string_view item : split_list(reporters))
      if (item != own && after_.value("metric.reporters") != before_.value("metric.reporters"))
        return refuse("Invalid dynamic configuration: metric.reporters: Class " + std::string(item) +
                      " could not be found.");
    return {};
  }

  Result<void> check_cordoned() const {
    auto paths = static_config_.list("log.dirs");
    if (paths.empty()) paths = static_config_.list("log.dir");
    const std::string cordoned = after_.text("cordoned.log.dirs");
    std::string missing;
    for (const std::string_view path : split_list(cordoned))
      if (path != "*" && std::ranges::find(paths, path) == paths.end())
        missing += (missing.empty() ? "" : ",") + std::string(path);
    if (missing.empty()) return {};
    return refuse(
        "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : " +
        missing);
  }

  const BrokerConfigView before_;
  const BrokerConfigView after_;
  const StaticConfig& static_config_;
};

}  // namespace

namespace {

/// The listener that a setting with a prefix is about, in upper case, if it is one of `listeners`.
std::optional<std::string> open_listener(std::string_view name, std::string_view listeners) {
  const std::string_view base = without_listener_prefix(name);
  if (base == name) return std::nullopt;
  constexpr std::string_view prefix = "listener.name.";
  std::string wanted(name.substr(prefix.size(), name.size() - base.size() - 1 - prefix.size()));
  std::ranges::transform(wanted, wanted.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const std::string_view item : split_list(listeners))
    if (item.starts_with(wanted) && item.substr(wanted.size()).starts_with("://")) return wanted;
  return std::nullopt;
}

/// Of a listener that is open only its stores and limits may change.
Result<void> check_open_listeners(const Values& values, std::string_view resource, const MetadataImage& image,
                                  const StaticConfig& static_config) {
  const ConfigImage* current = image.config(ConfigResourceType::broker, resource);
  const auto value_in = [&](const Values* dynamic, const std::string& name) -> std::optional<std::string> {
    if (dynamic != nullptr)
      if (const auto at = dynamic->find(name); at != dynamic->end()) return at->second;
    const auto* given = static_config.given(name);
    return given == nullptr ? std::nullopt : std::optional(given->value);
  };
  std::set<std::string> names;
  for (const auto& [name, value] : values) names.insert(name);
  if (current != nullptr)
    for (const auto& [name, value] : current->values) names.insert(name);
  const std::string listeners = static_config.text("listeners");
  for (const std::string& name : names) {
    const auto listener = open_listener(name, listeners);
    const std::string_view base = without_listener_prefix(name);
    if (!listener || is_store_setting(base) || contains(changeable_of_listeners, base)) continue;
    if (value_in(&values, name) != value_in(current == nullptr ? nullptr : &current->values, name))
      return refuse(
          "Invalid dynamic configuration: Configs cannot be updated dynamically for existing listener "
          "ListenerName(" +
          *listener + "), restart broker or create a new listener for update");
  }
  return {};
}

}  // namespace

std::string listener_prefix(std::string_view listener) {
  std::string prefix = "listener.name.";
  for (const char c : listener) prefix += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return prefix + ".";
}

bool is_store_setting(std::string_view name) {
  return contains(store_settings, name);
}

std::string_view without_listener_prefix(std::string_view name) {
  constexpr std::string_view prefix = "listener.name.";
  if (!name.starts_with(prefix)) return name;
  const auto dot = name.find('.', prefix.size());
  return dot == name.npos ? name : name.substr(dot + 1);
}

Result<void> validate_dynamic_broker_configs(const Values& values, bool per_broker,
                                             const MetadataImage& image, NodeId node,
                                             const StaticConfig& static_config) {
  BARNABAS_TRY(NameCheck(values, per_broker).run());
  BARNABAS_TRY(
      check_open_listeners(values, per_broker ? std::to_string(node.value()) : "", image, static_config));
  MetadataImage after = image;
  const std::string name = per_broker ? std::to_string(node.value()) : std::string();
  after.configs.put(
      std::make_shared<const ConfigImage>(ConfigImage{{ConfigResourceType::broker, name}, values}));
  return WholeCheck(image, after, node, static_config).run();
}

Result<std::vector<ConnectionOverride>> parse_connection_overrides(std::string_view text) {
  std::vector<ConnectionOverride> overrides;
  for (const std::string_view item : split_list(text)) {
    const auto colon = item.rfind(':');
    const auto count = colon == item.npos ? std::nullopt : parse_integer(item.substr(colon + 1));
    if (!count || colon == 0 || *count < std::numeric_limits<int32_t>::min() ||
        *count > std::numeric_limits<int32_t>::max())
      return fail(ErrorKind::invalid,
                  "Error parsing configuration property 'max.connections.per.ip.overrides': \"" +
                      std::string(item) + "\" is not of the form host:count");
    overrides.push_back({std::string(item.substr(0, colon)), static_cast<int32_t>(*count)});
  }
  return overrides;
}

}  // namespace barnabas::metadata
