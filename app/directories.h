#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// node.id, or broker.id; 1 where neither is set.
NodeId node_of(const metadata::StaticConfig& config);

/// Whether a cluster may be called so: the id of a Uuid in base64, of whichever alphabet, or anything else of
/// those letters.
bool is_cluster_id(std::string_view text);
inline constexpr const char* cluster_id_rule = "up to 64 letters, digits, -, _, +, / and =";

/// log.dirs, or log.dir; absolute, without doubled and trailing slashes, as Java's File makes them and so
/// Kafka's tools know them.
std::vector<std::string> log_paths(const metadata::StaticConfig& config);

/// Where the metadata log lies: metadata.log.dir, or the first of `paths`.
std::string metadata_path(const metadata::StaticConfig& config, const std::vector<std::string>& paths);

}  // namespace barnabas::app
