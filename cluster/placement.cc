#include "cluster/placement.h"

#include <algorithm>

#include "cluster/partition_change.h"
#include "metadata/record_versions.h"

namespace barnabas::cluster {
namespace {

using metadata::MetadataImage;
using protocol::ErrorCode;

bool is_active(const MetadataImage& image, int32_t broker) {
  const auto* registered = image.broker(NodeId(broker));
  return registered != nullptr && !registered->fenced && !registered->in_controlled_shutdown;
}

std::unexpected<ApiError> refuse(ErrorCode code, std::string message) {
  return std::unexpected(ApiError{code, std::move(message)});
}

std::unexpected<ApiError> refuse_assignment(std::string what) {
  return refuse(ErrorCode::invalid_replica_assignment,
                "The manual partition assignment includes " + std::move(what));
}

}  // namespace

std::expected<Placement, ApiError> check_manual_placement(const std::vector<int32_t>& brokers,
                                                          int32_t partition,
                                                          std::optional<std::size_t> replication_factor,
                                                          const MetadataImage& image) {
  if (brokers.empty()) return refuse_assignment("an empty replica list.");
  auto sorted = brokers;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string broker = std::to_string(sorted[i]);
    if (image.broker(NodeId(sorted[i])) == nullptr)
      return refuse_assignment("broker " + broker + ", but no such broker is registered.");
    if (i > 0 && sorted[i] == sorted[i - 1])
      return refuse_assignment("the broker " + broker + " more than once.");
  }
  if (replication_factor && *replication_factor != brokers.size())
    return refuse_assignment("a partition with " + std::to_string(brokers.size()) +
                             " replica(s), but this is not consistent with previous partitions, which have " +
                             std::to_string(*replication_factor) + " replica(s).");
  Placement placement{brokers, {}};
  std::ranges::copy_if(brokers, std::back_inserter(placement.isr),
                       [&](int32_t id) { return is_active(image, id); });
  if (placement.isr.empty())
    return refuse(ErrorCode::invalid_replica_assignment,
                  "All brokers specified in the manual partition assignment for partition " +
                      std::to_string(partition) + " are fenced or in controlled shutdown.");
  return placement;
}

std::expected<std::vector<Placement>, ApiError> place(int32_t first, int32_t count,
                                                      int16_t replication_factor,
                                                      const MetadataImage& image) {
  const auto cannot = [&](const std::string& why) {
    return refuse(
        ErrorCode::invalid_replication_factor,
        "Unable to replicate the partition " + std::to_string(replication_factor) + " time(s): " + why);
  };
  const auto factor = static_cast<std::size_t>(replication_factor);
  if (factor > image.brokers.size())
    return cannot("The target replication factor of " + std::to_string(replication_factor) +
                  " cannot be reached because only " + std::to_string(image.brokers.size()) +
                  " broker(s) are registered or some brokers have all their log directories cordoned.");
  std::vector<int32_t> live;
  std::vector<int32_t> others;
  for (const auto& [id, broker] : image.brokers)
    (is_active(image, id.value()) ? live : others).push_back(id.value());
  if (live.empty())
    return cannot("All brokers are currently fenced or have all their log directories cordoned.");

  std::vector<Placement> placements(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < placements.size(); ++i) {
    auto& placement = placements[i];
    for (std::size_t r = 0; r < factor; ++r) {
      const std::size_t turn = static_cast<std::size_t>(first) + i + r;
      if (r < live.size()) {
        placement.isr.push_back(live[turn % live.size()]);
        placement.replicas.push_back(placement.isr.back());
      } else {
        placement.replicas.push_back(others[r - live.size()]);
      }
    }
  }
  return placements;
}

protocol::PartitionRecord new_partition_record(const Uuid& topic, int32_t partition,
                                               const Placement& placement, const MetadataImage& image) {
  protocol::PartitionRecord record;
  record.topic_id = topic;
  record.partition_id = partition;
  record.replicas = placement.replicas;
  record.isr = placement.isr;
  record.leader = placement.isr.front();
  record.leader_epoch = 0;
  record.partition_epoch = 0;
  if (metadata::has_directories(image.metadata_version())) {
    for (const int32_t broker : placement.replicas)
      record.directories.push_back(directory_for(image, NodeId(broker)));
  }
  return record;
}

}  // namespace barnabas::cluster
