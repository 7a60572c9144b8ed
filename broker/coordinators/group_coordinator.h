#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "broker/coordinators/coordinator_runtime.h"
#include "broker/coordinators/coordinator_topic.h"
#include "broker/replica_manager.h"
#include "cluster/controller_gateway.h"
#include "coordinator/group_shard.h"
#include "metadata/publisher.h"
#include "metadata/static_config.h"

namespace barnabas::broker {

/// The groups that this broker coordinates: a shard for each partition of __consumer_offsets that it leads.
/// All methods from any thread.
class GroupCoordinator {
 public:
  using Runtime = CoordinatorRuntime<coordinator::GroupShard>;

  /// References must outlive it. The controller must be closed, and so nothing be published any more, before
  /// it goes.
  GroupCoordinator(NodeId node, const metadata::StaticConfig& config, metadata::ImagePublisher& metadata,
                   cluster::ControllerGateway& controller, ReplicaManager& replicas);

  /// Follows the metadata from here on, and so begins to load. Once, after `replicas` follows them.
  void begin();
  /// As CoordinatorRuntime::stop: answers all who wait, so that clients need not wait for their end.
  void stop() { runtime_.stop(); }

  /// Nothing while the topic is not there. How many partitions count stays as it was when the topic was first
  /// seen, as in Kafka: otherwise groups would lose their offsets when partitions are added.
  std::optional<PartitionIndex> partition_of(std::string_view group) const;
  /// See CoordinatorRuntime::schedule; not_coordinator while the topic is not there.
  void schedule(std::string_view group, Runtime::Work work, Runtime::Refused refused);
  /// The same for a shard itself, one of led().
  void schedule(PartitionIndex partition, Runtime::Work work, Runtime::Refused refused) {
    runtime_.schedule(partition, std::move(work), std::move(refused));
  }
  /// See CoordinatorRuntime::write_marker; `partition` of __consumer_offsets.
  void write_marker(PartitionIndex partition, const protocol::TransactionMarker& marker,
                    Runtime::Refused done) {
    runtime_.write_marker(partition, marker, std::move(done));
  }
  /// The partitions whose groups are here, ascending.
  std::vector<PartitionIndex> led() const;

  CoordinatorTopic& topic() { return topic_; }
  const coordinator::GroupSettings& settings() const { return settings_; }

 private:
  void follow(const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image);

  const NodeId node_;
  const coordinator::GroupSettings settings_;
  metadata::ImagePublisher& metadata_;
  CoordinatorTopic topic_;
  Runtime runtime_;

  std::atomic<int32_t> partition_count_{0};  ///< 0: no topic
  Uuid topic_id_;                            ///< of the publisher's thread
  mutable std::mutex mutex_;
  std::vector<PartitionIndex> led_;
};

}  // namespace barnabas::broker
