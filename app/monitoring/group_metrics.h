#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/monitoring/metrics_collector.h"
#include "base/uuid.h"
#include "coordinator/group_shard.h"

namespace barnabas::app {

/// A group as its shard knows it at one moment.
struct GroupProgress {
  struct Partition {
    std::string topic;
    Uuid topic_id;  ///< zero: not known
    int32_t index = 0;
    int64_t offset = 0;
  };
  std::string id;
  std::size_t members = 0;
  std::vector<Partition> committed;  ///< by topic, then partition
};

/// What a shard's thread takes out of it: whole groups, until there are enough. `left_out` counts the
/// partitions of the others.
struct ShardProgress {
  std::vector<GroupProgress> groups;
  std::size_t left_out = 0;
};
ShardProgress progress_of(const coordinator::GroupShard& shard, std::size_t partitions_max);

/// Adds what is told of groups: for each partition until metrics.partitions.max is reached, and sums.
void add_groups(metrics::Page& page, const MetricsSources& sources, const metadata::MetadataImage& image,
                const std::vector<ShardProgress>& shards);

}  // namespace barnabas::app
