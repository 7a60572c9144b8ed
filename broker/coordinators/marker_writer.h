#pragma once

#include <functional>
#include <vector>

#include "broker/coordinators/group_coordinator.h"
#include "broker/replica_manager.h"
#include "coordinator/transaction_shard.h"

namespace barnabas::broker {

/// Ends transactions in partitions that this broker leads. Thread-safe.
class MarkerWriter {
 public:
  /// References must outlive it.
  MarkerWriter(ReplicaManager& replicas, GroupCoordinator& groups) : replicas_(replicas), groups_(groups) {}

  using Results = std::vector<coordinator::MarkerResult>;
  using Done = std::move_only_function<void(Results&&)>;
  /// Appends a marker to each of the partitions; their syncs run beside each other. `done` gets a result for
  /// each of them, in their order, once all are durable or failed, inside this call or on any thread. Codes:
  /// invalid_producer_epoch and transaction_coordinator_fenced are final; unknown_topic_or_partition,
  /// not_leader_or_follower, kafka_storage_error and request_timed_out may pass. A marker that came too late
  /// may be durable all the same; another one does no harm.
  void write(const coordinator::TransactionMarkers& markers, Done done);

 private:
  ReplicaManager& replicas_;
  GroupCoordinator& groups_;
};

}  // namespace barnabas::broker
