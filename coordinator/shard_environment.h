#pragma once

#include <functional>
#include <string>
#include <string_view>

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

/// Whether somebody may know of a topic; empty: of every one. From any thread.
using TopicFilter = std::function<bool(std::string_view topic)>;

/// Who sent a request.
struct RequestContext {
  int16_t version = 0;  ///< of the request
  std::string_view client_id;
  std::string_view client_host;  ///< as Kafka writes it: "/127.0.0.1"
  Now now;
  TopicFilter may_see = {};  ///< what a regular expression of the sender's matches
};

}  // namespace barnabas::coordinator
