#pragma once

#include <functional>
#include <string>

#include "base/types.h"
#include "broker/coordinators/keyed_coordinator.h"
#include "broker/coordinators/marker_writer.h"
#include "broker/producer_ids.h"
#include "broker/replica_manager.h"
#include "broker/transaction_verifier.h"
#include "coordinator/transaction_shard.h"
#include "metadata/static_config.h"

namespace barnabas::broker {

/// The transactions that this broker coordinates: a shard for each partition of __transaction_state that it
/// leads; keys are transactional ids. What its shards want of the world is done here.
///
/// Markers that are on their way when it stops are written or not: whoever leads the partition next finds the
/// outcome in the log, and writes them again.
class TransactionCoordinator : public KeyedCoordinator<coordinator::TransactionShard>,
                               public TransactionVerifier,
                               private coordinator::TransactionEffects {
 public:
  /// References must outlive it. Before it goes, the controller must be closed, and so nothing be published
  /// any more, and the disk pool shut down, so that nobody waits for the disk any more.
  TransactionCoordinator(NodeId node, const metadata::StaticConfig& config,
                         metadata::ImagePublisher& metadata, cluster::ControllerGateway& controller,
                         ReplicaManager& replicas, GroupCoordinator& groups, ProducerIds& producer_ids);
  ~TransactionCoordinator() override { stop(); }

  void verify(Transaction transaction, std::move_only_function<void(Verified)> verified) override;

  MarkerWriter& markers() { return markers_; }

 private:
  void next_producer_id(std::string transactional_id, Resume resume,
                        std::move_only_function<void(protocol::ErrorCode)> refused) override;
  void write_markers(coordinator::TransactionMarkers markers) override;

  const coordinator::TransactionSettings settings_;
  ProducerIds& producer_ids_;
  MarkerWriter markers_;
};

/// What all partitions of a transaction are answered with.
TransactionVerifier::Verified refuse_transaction(const TransactionVerifier::Transaction& transaction,
                                                 protocol::ErrorCode error);

}  // namespace barnabas::broker
