#pragma once

#include <functional>
#include <string>

#include "base/uuid.h"
#include "coordinator/group_settings.h"
#include "coordinator/timers.h"
#include "metadata/image.h"

namespace barnabas::coordinator {

/// What the parts of a shard share. Belongs to one shard and its thread.
struct ShardEnvironment {
  NodeId node;
  const metadata::StaticConfig& config;  ///< outlives the shard
  GroupSettings settings;
  std::function<Uuid()> random_uuid = Uuid::random;  ///< for member ids; a simulation gives its own
  metadata::MetadataImagePtr image;                  ///< never null
  Timers timers = {};
};

/// Who sent a request.
struct RequestContext {
  int16_t version = 0;  ///< of the request
  std::string_view client_id;
  std::string_view client_host;  ///< as Kafka writes it: "/127.0.0.1"
  Now now;
};

}  // namespace barnabas::coordinator
