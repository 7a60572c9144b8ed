#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "metadata/config_definitions.h"
#include "metadata/image.h"
#include "metadata/static_config.h"

namespace barnabas::metadata {

/// Where a value in force comes from; the numbers are those of DescribeConfigs and CreateTopics answers.
enum class ConfigSource : int8_t {
  topic = 1,
  dynamic_broker = 2,
  dynamic_default_broker = 3,
  static_broker = 4,
  default_config = 5,
  broker_logger = 6,
  client_metrics = 7,
  group = 8,
};

struct ConfigValueAt {
  std::string name;  ///< the topic's name of the setting, or the broker-level one
  std::string value;
  ConfigSource source;
  bool operator==(const ConfigValueAt&) const = default;
};

struct EffectiveConfig {
  std::optional<std::string> value;  ///< in the topic's unit, canonical
  ConfigSource source = ConfigSource::default_config;
  /// Everything that was or would be looked at, the one in force first: DescribeConfigs' synonyms.
  std::vector<ConfigValueAt> synonyms;
};

/// What was set at run time on a broker, or ("" as `resource`) on all of them. A value that breaks the
/// setting's rules, as an older or newer broker may have left it in the metadata log, counts as not set.
std::optional<std::string_view> dynamic_broker_value(const MetadataImage& image, std::string_view resource,
                                                     std::string_view name);

/// A topic's setting in force on `node`: the topic's own value, else the broker-level names in order of
/// precedence, for each what was set on this broker, then for all brokers, then in its settings file; else
/// the default. `overrides` are the topic's own values, or null. Settings of groups and client metrics are
/// looked up in the same way.
EffectiveConfig effective_topic_config(const ConfigDefinition& definition, const ConfigImage* overrides,
                                       const MetadataImage& image, NodeId node,
                                       const StaticConfig& static_config);

/// The value of effective_topic_config, for a topic by name; the topic need not exist.
std::optional<std::string> topic_config_in_force(std::string_view setting, std::string_view topic,
                                                 const MetadataImage& image, NodeId node,
                                                 const StaticConfig& static_config);

/// Checks settings that are to be set on a topic together, each for itself and those that depend on each
/// other. Unknown names come first. ErrorKind::invalid with the text for the answer.
Result<void> validate_topic_configs(const ConfigImage& values, const MetadataImage& image, NodeId node,
                                    const StaticConfig& static_config);

}  // namespace barnabas::metadata
