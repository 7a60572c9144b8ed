#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "metadata/config_definitions.h"
#include "metadata/effective_config.h"
#include "metadata/image.h"
#include "metadata/static_config.h"

namespace barnabas::metadata {

/// A broker's own setting in force on `node`: its dynamic value, the dynamic default of all brokers, the
/// settings file, the default. The value is canonical, the synonyms are as they were given. A setting that
/// comes in several units (log.retention.ms, .minutes, .hours) lists all of its names.
EffectiveConfig effective_broker_config(const ConfigDefinition& definition, const MetadataImage& image,
                                        NodeId node, const StaticConfig& config);

/// What is set for all brokers at run time, as it was given; without a value when nothing is.
EffectiveConfig default_of_all_brokers(const ConfigDefinition& definition, const MetadataImage& image);

/// Settings of one broker as they are in force at one moment, by name. Cheap to make; keeps references.
class BrokerConfigView {
 public:
  BrokerConfigView(const MetadataImage& image, NodeId node, const StaticConfig& config)
      : image_(image), node_(node), config_(config) {}

  /// Canonical; nothing when it was not set and has no default. `name` must be a known setting. With a
  /// listener's prefix only what was set for that listener counts.
  std::optional<std::string> value(std::string_view name) const;
  /// It was set, dynamically or in the settings file.
  bool given(std::string_view name) const;
  int64_t integer(std::string_view name) const;  ///< 0 when there is none
  bool boolean(std::string_view name) const;
  double decimal(std::string_view name) const;
  std::string text(std::string_view name) const;  ///< "" when there is none

 private:
  const MetadataImage& image_;
  NodeId node_;
  const StaticConfig& config_;
};

}  // namespace barnabas::metadata
