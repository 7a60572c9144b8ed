#pragma once

#include <utility>

#include "base/types.h"
#include "broker/coordinators/keyed_coordinator.h"
#include "broker/replica_manager.h"
#include "coordinator/group_shard.h"
#include "metadata/static_config.h"

namespace barnabas::broker {

/// The groups that this broker coordinates: a shard for each partition of __consumer_offsets that it leads;
/// keys are groups.
class GroupCoordinator : public KeyedCoordinator<coordinator::GroupShard> {
 public:
  /// References must outlive it. The controller must be closed, and so nothing be published any more, before
  /// it goes.
  GroupCoordinator(NodeId node, const metadata::StaticConfig& config, metadata::ImagePublisher& metadata,
                   cluster::ControllerGateway& controller, ReplicaManager& replicas);
  ~GroupCoordinator() { stop(); }

  /// See CoordinatorRuntime::write_marker; `partition` of __consumer_offsets.
  void write_marker(PartitionIndex partition, const protocol::TransactionMarker& marker,
                    Runtime::Refused done) {
    runtime().write_marker(partition, marker, std::move(done));
  }

  const coordinator::GroupSettings& settings() const { return settings_; }

 private:
  const coordinator::GroupSettings settings_;
};

}  // namespace barnabas::broker
