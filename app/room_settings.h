#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/rate_window.h"
#include "broker/services.h"
#include "cluster/metadata_log.h"
#include "metadata/static_config.h"
#include "network/server.h"

namespace barnabas::app {

/// Settings of the process as the rooms below take them, which do not know StaticConfig.

/// Descriptors that logs may hold; the rest is for connections. Raises the soft limit of the process to the
/// hard one first.
std::size_t open_files_budget(const metadata::StaticConfig& config);
/// A setting in milliseconds, short enough to be added to any time.
std::chrono::milliseconds interval(const metadata::StaticConfig& config, std::string_view name);
/// metadata.log.* and metadata.max.retention.*.
cluster::MetadataLogSettings metadata_log_settings(const metadata::StaticConfig& config);
/// `prefix`.num and `prefix`.size.seconds.
RateSettings rate_settings(const metadata::StaticConfig& config, const std::string& prefix);
/// Limits on requests and connections, but for those that change at run time (connection_limits.h).
network::ServerLimits server_limits(const metadata::StaticConfig& config);
/// What is registered in the metadata.
std::vector<metadata::BrokerEndpoint> endpoints_of(const std::vector<broker::AdvertisedListener>& listeners);

}  // namespace barnabas::app
