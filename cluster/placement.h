#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <vector>

#include "base/types.h"
#include "cluster/api_error.h"
#include "metadata/image.h"
#include "protocol/messages/partition_record.h"

/// Which brokers hold the replicas of new partitions.
namespace barnabas::cluster {

/// Replicas of one new partition, in order of preference, and those of them that are alive.
struct Placement {
  std::vector<int32_t> replicas;
  std::vector<int32_t> isr;
};

/// Checks what a client asked for: known brokers, none twice, at least one alive, and as many as
/// `replication_factor` if given.
std::expected<Placement, ApiError> check_manual_placement(const std::vector<int32_t>& brokers,
                                                          int32_t partition,
                                                          std::optional<std::size_t> replication_factor,
                                                          const metadata::MetadataImage& image);

/// Spreads `count` partitions over the live brokers, leaders in turn from partition number `first` on. The
/// error is a replication factor that cannot be reached.
std::expected<std::vector<Placement>, ApiError> place(int32_t first, int32_t count,
                                                      int16_t replication_factor,
                                                      const metadata::MetadataImage& image);

/// A new partition with its first live replica as leader, directories filled in where a broker has only one.
protocol::PartitionRecord new_partition_record(const Uuid& topic, int32_t partition,
                                               const Placement& placement,
                                               const metadata::MetadataImage& image);

}  // namespace barnabas::cluster
