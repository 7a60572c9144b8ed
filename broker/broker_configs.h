#pragma once

#include "metadata/config_definitions.h"
#include "metadata/effective_config.h"
#include "metadata/image.h"
#include "metadata/static_config.h"

namespace barnabas::broker {

/// A broker's own setting in force on `node`: its dynamic value, the dynamic default of all brokers, the
/// settings file, the default. A setting that comes in several units (log.retention.ms, .minutes, .hours)
/// lists all of its names.
metadata::EffectiveConfig effective_broker_config(const metadata::ConfigDefinition& definition,
                                                  const metadata::MetadataImage& image, NodeId node,
                                                  const metadata::StaticConfig& config);

/// What is set for all brokers at run time; without a value when nothing is.
metadata::EffectiveConfig default_of_all_brokers(const metadata::ConfigDefinition& definition,
                                                 const metadata::MetadataImage& image);

}  // namespace barnabas::broker
