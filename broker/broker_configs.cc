#include "broker/broker_configs.h"

#include <algorithm>
#include <vector>

namespace barnabas::broker {
namespace {

using metadata::ConfigDefinition;
using metadata::ConfigResourceType;
using metadata::ConfigSource;
using metadata::ConfigSynonym;
using metadata::EffectiveConfig;

/// The names of one setting in its several units, as a topic's setting lists them together.
std::vector<std::string_view> names_of(const ConfigDefinition& definition) {
  std::vector<std::string_view> names;
  for (const ConfigDefinition& topic : metadata::topic_configs()) {
    if (std::ranges::find(topic.synonyms, definition.name, &ConfigSynonym::name) == topic.synonyms.end())
      continue;
    for (const ConfigSynonym& synonym : topic.synonyms) names.push_back(synonym.name);
    return names;
  }
  names.push_back(definition.name);
  return names;
}

}  // namespace

EffectiveConfig effective_broker_config(const ConfigDefinition& definition,
                                        const metadata::MetadataImage& image, NodeId node,
                                        const metadata::StaticConfig& config) {
  EffectiveConfig result;
  const auto names = names_of(definition);
  const auto add = [&](std::string_view name, std::string_view value, ConfigSource source) {
    result.synonyms.push_back({std::string(name), std::string(value), source});
    if (name == definition.name && !result.value) {
      result.value = std::string(value);
      result.source = source;
    }
  };
  const std::string own = std::to_string(node.value());
  for (const auto name : names)
    if (const auto value = image.config_value(ConfigResourceType::broker, own, name))
      add(name, *value, ConfigSource::dynamic_broker);
  for (const auto name : names)
    if (const auto value = image.config_value(ConfigResourceType::broker, "", name))
      add(name, *value, ConfigSource::dynamic_default_broker);
  for (const auto name : names)
    if (const auto* given = config.given(name)) add(name, given->value, ConfigSource::static_broker);
  for (const auto name : names)
    if (const auto* known = metadata::find_broker_config(name);
        known != nullptr && known->default_value != nullptr)
      add(name, known->default_value, ConfigSource::default_config);
  return result;
}

EffectiveConfig default_of_all_brokers(const ConfigDefinition& definition,
                                       const metadata::MetadataImage& image) {
  EffectiveConfig result;
  const auto value = image.config_value(ConfigResourceType::broker, "", definition.name);
  if (!value) return result;
  result.value = std::string(*value);
  result.source = ConfigSource::dynamic_default_broker;
  result.synonyms.push_back({std::string(definition.name), *result.value, result.source});
  return result;
}

}  // namespace barnabas::broker
