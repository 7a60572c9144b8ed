#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/coordinators/coordinator_runtime.h"
#include "broker/coordinators/coordinator_topic.h"
#include "broker/coordinators/led_partitions.h"
#include "broker/replica_manager.h"
#include "cluster/controller_gateway.h"
#include "metadata/publisher.h"

namespace barnabas::broker {

/// What coordinators have in common: keys (a group, a transactional id) are spread over the partitions of a
/// topic, and there is a shard for each partition that this broker leads. Follows the metadata. All methods
/// from any thread.
template <class Shard>
class KeyedCoordinator {
 public:
  using Runtime = CoordinatorRuntime<Shard>;

  KeyedCoordinator(const KeyedCoordinator&) = delete;
  KeyedCoordinator& operator=(const KeyedCoordinator&) = delete;

  /// Follows the metadata from here on, and so begins to load. Once, after the ReplicaManager follows them.
  void begin() {
    metadata_.subscribe([this](const metadata::MetadataChanges& changes,
                               const metadata::MetadataImagePtr& image) { follow(changes, image); });
  }
  /// As CoordinatorRuntime::stop: answers all who wait, so that clients need not wait for their end.
  void stop() { runtime_.stop(); }

  /// See LedPartitions::partition_of.
  std::optional<PartitionIndex> partition_of(std::string_view key) const { return led_.partition_of(key); }
  /// See CoordinatorRuntime::schedule; not_coordinator while the topic is not there.
  void schedule(std::string_view key, typename Runtime::Work work, typename Runtime::Refused refused) {
    const auto partition = partition_of(key);
    if (!partition) return refused(protocol::ErrorCode::not_coordinator);
    runtime_.schedule(*partition, std::move(work), std::move(refused));
  }
  /// The same for a shard itself, one of led().
  void schedule(PartitionIndex partition, typename Runtime::Work work, typename Runtime::Refused refused) {
    runtime_.schedule(partition, std::move(work), std::move(refused));
  }
  /// The partitions whose keys are here, ascending.
  std::vector<PartitionIndex> led() const { return led_.led(); }

  CoordinatorTopic& topic() { return topic_; }

 protected:
  /// `options` without a way to find partitions: they are those of `replicas`. References must outlive it.
  /// The controller must be closed, and so nothing be published any more, before it goes. Who derives stops
  /// it before `make` loses what it uses.
  KeyedCoordinator(NodeId node, CoordinatorTopic::Settings topic, CoordinatorOptions options,
                   ReplicaManager& replicas, typename ShardHost<Shard>::Make make,
                   metadata::ImagePublisher& metadata, cluster::ControllerGateway& controller)
      : metadata_(metadata),
        led_(node, topic.name),
        topic_(std::move(topic), metadata, controller),
        runtime_(with_partitions_of(replicas, std::move(options)), std::move(make)) {}
  ~KeyedCoordinator() = default;

  Runtime& runtime() { return runtime_; }

 private:
  static CoordinatorOptions with_partitions_of(ReplicaManager& replicas, CoordinatorOptions options) {
    options.find = [&replicas](const Uuid& topic_id, PartitionIndex partition) {
      return replicas.find(topic_id, partition).partition;
    };
    return options;
  }
  void follow(const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image) {
    runtime_.metadata_changed(changes, image);
    const auto change = led_.follow(changes, image);
    if (!change) return;
    for (const PartitionIndex partition : change->resigned) runtime_.resign(partition);
    for (const auto& [partition, leadership] : change->led) runtime_.lead(partition, leadership);
  }

  metadata::ImagePublisher& metadata_;
  LedPartitions led_;
  CoordinatorTopic topic_;
  Runtime runtime_;
};

}  // namespace barnabas::broker
