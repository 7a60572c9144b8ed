#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "broker/coordinators/shard_host.h"
#include "metadata/publisher.h"

namespace barnabas::broker {

/// Which partitions of a coordinators' topic this broker leads, and which of its partitions has a key.
class LedPartitions {
 public:
  LedPartitions(NodeId node, std::string topic) : node_(node), topic_(std::move(topic)) {}

  struct Change {
    std::vector<PartitionIndex> resigned;
    std::vector<std::pair<PartitionIndex, Leadership>> led;  ///< all of them
  };
  /// Nothing when the change is not about the topic. One thread at a time, in the order of the metadata.
  std::optional<Change> follow(const metadata::MetadataChanges& changes,
                               const metadata::MetadataImagePtr& image);

  /// Nothing while the topic is not there. How many partitions count stays as it was when the topic was first
  /// seen, as in Kafka: otherwise keys would lose what is kept of them when partitions are added. Any thread.
  std::optional<PartitionIndex> partition_of(std::string_view key) const;
  /// Ascending. Any thread.
  std::vector<PartitionIndex> led() const;

 private:
  const NodeId node_;
  const std::string topic_;
  std::atomic<int32_t> partition_count_{0};  ///< 0: no topic
  Uuid topic_id_;                            ///< of the thread that follows
  mutable std::mutex mutex_;
  std::vector<PartitionIndex> led_;
};

}  // namespace barnabas::broker
