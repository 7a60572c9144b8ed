#pragma once

#include <string>
#include <vector>

#include "base/types.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// node.id, or broker.id; 1 where neither is set.
NodeId node_of(const metadata::StaticConfig& config);

/// log.dirs, or log.dir; absolute, without doubled and trailing slashes, as Java's File makes them and so
/// Kafka's tools know them.
std::vector<std::string> log_paths(const metadata::StaticConfig& config);

/// Where the metadata log lies: metadata.log.dir, or the first of `paths`.
std::string metadata_path(const metadata::StaticConfig& config, const std::vector<std::string>& paths);

}  // namespace barnabas::app
