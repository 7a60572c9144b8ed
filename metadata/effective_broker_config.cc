#include "metadata/effective_broker_config.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "metadata/dynamic_broker_config.h"

namespace barnabas::metadata {
namespace {

/// The names of one setting in its several units, as a topic's setting lists them together.
std::vector<std::string_view> names_of(const ConfigDefinition& definition) {
  std::vector<std::string_view> names;
  for (const ConfigDefinition& topic : topic_configs()) {
    if (std::ranges::find(topic.synonyms, definition.name, &ConfigSynonym::name) == topic.synonyms.end())
      continue;
    for (const ConfigSynonym& synonym : topic.synonyms) names.push_back(synonym.name);
    return names;
  }
  names.push_back(definition.name);
  return names;
}

}  // namespace

EffectiveConfig effective_broker_config(const ConfigDefinition& definition, const MetadataImage& image,
                                        NodeId node, const StaticConfig& config) {
  EffectiveConfig result;
  const auto names = names_of(definition);
  const auto add = [&](std::string_view name, std::string_view value, ConfigSource source) {
    result.synonyms.push_back({std::string(name), std::string(value), source});
    if (name == definition.name && !result.value) {
      result.value = canonical_config(definition, value);
      result.source = source;
    }
  };
  const std::string own = std::to_string(node.value());
  for (const auto name : names)
    if (const auto value = dynamic_broker_value(image, own, name))
      add(name, *value, ConfigSource::dynamic_broker);
  for (const auto name : names)
    if (const auto value = dynamic_broker_value(image, "", name))
      add(name, *value, ConfigSource::dynamic_default_broker);
  for (const auto name : names) {
    if (const auto* given = config.given(name)) {
      add(name, given->value, ConfigSource::static_broker);
    } else if (name == "broker.id") {
      add(name, own, ConfigSource::static_broker);  // node.id under its older name
    }
  }
  for (const auto name : names)
    if (const auto* known = find_broker_config(name); known != nullptr && known->default_value != nullptr)
      add(name, known->default_value, ConfigSource::default_config);
  return result;
}

EffectiveConfig default_of_all_brokers(const ConfigDefinition& definition, const MetadataImage& image) {
  EffectiveConfig result;
  const auto value = image.config_value(ConfigResourceType::broker, "", definition.name);
  if (!value) return result;
  result.value = std::string(*value);
  result.source = ConfigSource::dynamic_default_broker;
  result.synonyms.push_back({std::string(definition.name), *result.value, result.source});
  return result;
}

std::optional<std::string> BrokerConfigView::value(std::string_view name) const {
  const std::string_view base = without_listener_prefix(name);
  const ConfigDefinition* definition = find_broker_config(base);
  BARNABAS_ASSERT(definition != nullptr);
  if (base == name) return effective_broker_config(*definition, image_, node_, config_).value;
  std::optional<std::string_view> value =
      image_.config_value(ConfigResourceType::broker, std::to_string(node_.value()), name);
  if (!value) value = image_.config_value(ConfigResourceType::broker, "", name);
  if (const auto* given = config_.given(name); !value && given != nullptr) value = given->value;
  if (!value || !validate_config(*definition, *value)) return std::nullopt;
  return canonical_config(*definition, *value);
}

bool BrokerConfigView::given(std::string_view name) const {
  return config_.given(name) != nullptr || dynamic_broker_value(image_, "", name) ||
         dynamic_broker_value(image_, std::to_string(node_.value()), name);
}

int64_t BrokerConfigView::integer(std::string_view name) const {
  return parse_integer(text(name)).value_or(0);
}

bool BrokerConfigView::boolean(std::string_view name) const {
  return parse_boolean(text(name)).value_or(false);
}

double BrokerConfigView::decimal(std::string_view name) const {
  return parse_decimal(text(name)).value_or(0);
}

std::string BrokerConfigView::text(std::string_view name) const {
  return value(name).value_or("");
}

}  // namespace barnabas::metadata
