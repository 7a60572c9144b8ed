#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "coordinator/assignors/assignor.h"
#include "metadata/image.h"

/// What members of the classic protocol say to each other in the bytes of JoinGroup and SyncGroup, where they
/// speak the consumer protocol: a version as int16 and a message. Newer versions are read as the newest
/// known.
namespace barnabas::coordinator {

struct EmbeddedSubscription {
  int16_t version = 0;
  std::vector<std::string> topics;
  std::optional<std::string> rack_id;
  std::map<std::string, std::vector<int32_t>> owned;  ///< by topic
};
/// Nothing: it does not decode.
std::optional<EmbeddedSubscription> read_subscription(ByteView bytes);

struct EmbeddedAssignment {
  std::map<std::string, std::vector<int32_t>> partitions;  ///< by topic
  bool has_user_data = false;                              ///< of an assignor of the application's own
};
std::optional<EmbeddedAssignment> read_assignment(ByteView bytes);

/// Topics that do not exist any more are left out.
std::vector<std::byte> write_assignment(const TopicPartitions& partitions,
                                        const metadata::MetadataImage& image, int16_t version);

/// By id; topics that do not exist are left out.
TopicPartitions by_id(const std::map<std::string, std::vector<int32_t>>& partitions,
                      const metadata::MetadataImage& image);

}  // namespace barnabas::coordinator
