#include "metadata/effective_config.h"

#include <utility>

namespace barnabas::metadata {
namespace {

/// The broker-level value in the topic's unit: hours of the broker may be milliseconds of the topic.
std::string in_topic_unit(std::string_view value, int64_t multiplier) {
  if (multiplier == 1) return std::string(value);
  const auto number = parse_integer(value);
  // -1 means "no limit" in any unit.
  if (!number || *number < 0) return std::string(value);
  return std::to_string(*number * multiplier);
}

ConfigSource source_of(ConfigResourceType type) {
  if (type == ConfigResourceType::group) return ConfigSource::group;
  if (type == ConfigResourceType::client_metrics) return ConfigSource::client_metrics;
  return ConfigSource::topic;
}

void add_default(const ConfigDefinition& definition, EffectiveConfig& result) {
  const auto name = definition.synonyms.empty() ? definition.name : definition.synonyms.front().name;
  const char* value = definition.default_value;
  // streams.assignor.name takes the first of group.streams.assignors.
  if (value == nullptr && definition.synonyms.size() == 1) {
    const auto* broker_level = find_broker_config(name);
    if (broker_level != nullptr) value = broker_level->default_value;
  }
  if (value != nullptr) result.synonyms.push_back({std::string(name), value, ConfigSource::default_config});
}

}  // namespace

std::optional<std::string_view> dynamic_broker_value(const MetadataImage& image, std::string_view resource,
                                                     std::string_view name) {
  const auto value = image.config_value(ConfigResourceType::broker, resource, name);
  if (!value) return std::nullopt;
  const ConfigDefinition* definition = find_broker_config(name);
  if (definition == nullptr || !validate_config(*definition, *value)) return std::nullopt;
  return value;
}

EffectiveConfig effective_topic_config(const ConfigDefinition& definition, const ConfigImage* overrides,
                                       const MetadataImage& image, NodeId node,
                                       const StaticConfig& static_config) {
  EffectiveConfig result;
  const auto add = [&](std::string_view name, std::string value, ConfigSource source) {
    result.synonyms.push_back({std::string(name), std::move(value), source});
  };
  if (overrides != nullptr) {
    if (auto found = overrides->values.find(definition.name); found != overrides->values.end())
      add(definition.name, canonical_config(definition, found->second), source_of(overrides->resource.type));
  }
  const std::string broker = std::to_string(node.value());
  for (const ConfigSynonym& synonym : definition.synonyms) {
    const std::pair<std::string_view, ConfigSource> dynamic[] = {{broker, ConfigSource::dynamic_broker},
                                                                 {"", ConfigSource::dynamic_default_broker}};
    for (const auto& [resource, source] : dynamic) {
      if (auto value = dynamic_broker_value(image, resource, synonym.name))
        add(synonym.name, in_topic_unit(*value, synonym.multiplier), source);
    }
    if (const auto* given = static_config.given(synonym.name))
      add(synonym.name, in_topic_unit(given->value, synonym.multiplier), ConfigSource::static_broker);
  }
  add_default(definition, result);
  if (!result.synonyms.empty()) {
    result.value = canonical_config(definition, result.synonyms.front().value);
    result.source = result.synonyms.front().source;
  }
  return result;
}

std::optional<std::string> topic_config_in_force(std::string_view setting, std::string_view topic,
                                                 const MetadataImage& image, NodeId node,
                                                 const StaticConfig& static_config) {
  const ConfigDefinition* definition = find_topic_config(setting);
  if (definition == nullptr) return std::nullopt;
  return effective_topic_config(*definition, image.config(ConfigResourceType::topic, topic), image, node,
                                static_config)
      .value;
}

Result<void> validate_topic_configs(const ConfigImage& values, const MetadataImage& image, NodeId node,
                                    const StaticConfig& static_config) {
  for (const auto& [name, value] : values.values) {
    if (find_topic_config(name) == nullptr)
      return fail(ErrorKind::invalid, "Unknown topic config name: " + name);
  }
  for (const auto& [name, value] : values.values) BARNABAS_TRY(validate_topic_config(name, value));

  const auto in_force = [&](std::string_view name) {
    const auto* definition = find_topic_config(name);
    return definition == nullptr
               ? std::optional<std::string>()
               : effective_topic_config(*definition, &values, image, node, static_config).value;
  };
  if (parse_boolean(in_force("remote.storage.enable").value_or("false")).value_or(false))
    return fail(
        ErrorKind::invalid,
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log "
        "storage.");
  const auto low = parse_integer(in_force("min.compaction.lag.ms").value_or(""));
  const auto high = parse_integer(in_force("max.compaction.lag.ms").value_or(""));
  if (low && high && *low > *high)
    return fail(ErrorKind::invalid, "conflict topic config setting min.compaction.lag.ms (" +
                                        std::to_string(*low) + ") > max.compaction.lag.ms (" +
                                        std::to_string(*high) + ")");
  return {};
}

}  // namespace barnabas::metadata
