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

  using KeyedCoordinator::schedule;
  /// See CoordinatorRuntime: what a group's shard writes in a transaction.
  void schedule(PartitionIndex partition, const storage::TransactionCheck& check, Runtime::Work work,
                Runtime::Refused refused) {
    runtime().schedule(partition, check, std::move(work), std::move(refused));
  }
  void begin_verification(PartitionIndex partition, const storage::TransactionBegin& transaction,
                          std::move_only_function<void(Runtime::GuardOrError)> begun) {
    runtime().begin_verification(partition, transaction, std::move(begun));
  }
  void refuse_verification(PartitionIndex partition, ProducerId producer, storage::VerificationGuard guard) {
    runtime().refuse_verification(partition, producer, guard);
  }

  const coordinator::GroupSettings& settings() const { return settings_; }

 private:
  const coordinator::GroupSettings settings_;
};

}  // namespace barnabas::broker
