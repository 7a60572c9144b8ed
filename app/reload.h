#pragma once

#include <string>
#include <vector>

#include "metadata/image.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// What a broker does about settings that were changed in their sources while it runs.
struct Reload {
  std::vector<std::string> now;             ///< names that can be taken over at once
  std::vector<std::string> restart;         ///< names that the next start takes over
  std::vector<std::string> without_effect;  ///< names that do nothing in this version
  std::vector<std::string> hidden;          ///< of `now`: set on the broker with kafka-configs.sh, which wins
  std::vector<std::string> refused;  ///< sentences: what is wrong with a value, which is not taken over
};

/// Compares. At once go those that Kafka changes at run time, within Kafka's bounds for it (thread counts may
/// double or halve, …).
Reload plan_reload(const metadata::StaticConfig& in_force, const metadata::StaticConfig& wanted,
                   const metadata::MetadataImage& image, NodeId node);

}  // namespace barnabas::app
