#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "coordinator/shard_test_support.h"
#include "coordinator/transaction_shard.h"
#include "sim/history.h"
#include "sim/simulated_partition.h"
#include "sim/world.h"

namespace barnabas::sim {

using protocol::ErrorCode;

struct TransactionalWrite {
  std::string transactional_id;
  ProducerId producer;
  ProducerEpoch epoch;
  int32_t sequence = 0;
  int version = 2;  ///< of transactions
  Attempt* attempt = nullptr;
};

template <class Response>
using Answer = std::function<void(const Response&)>;

/// A machine with a transaction coordinator and partitions. What it appends is on disk after a while; what is
/// not, may be lost when it dies. It is up again at once.
class SimulatedBroker final : public coordinator::TransactionEffects {
 public:
  /// `die_after`: it dies when so many batches and records have been appended; 0: by chance.
  SimulatedBroker(World& world, int64_t die_after);

  // --- requests. An answer comes when it is there, or never.

  void init_producer_id(const protocol::InitProducerIdRequest& request,
                        Answer<protocol::InitProducerIdResponse> answer);
  /// By a client of version 1.
  void add_partitions(const protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction& partitions,
                      Answer<ErrorCode> answer);
  void end_txn(const protocol::EndTxnRequest& request, int version, Answer<protocol::EndTxnResponse> answer);
  /// Produce, or TxnOffsetCommit: the leader verifies first.
  void write(const PartitionName& name, const TransactionalWrite& write, Answer<ErrorCode> answer);

  // --- what an observer sees

  /// To be called after each event: time goes on, disks sync, machines die.
  void settle();
  std::map<PartitionName, SimulatedPartition>& partitions() { return partitions_; }
  coordinator::TransactionShard& shard() { return runner_.shard(); }
  int64_t crashes() const { return crashes_; }
  /// Batches, markers and records of the coordinator.
  int64_t appended() const { return appended_ + static_cast<int64_t>(runner_.log().size()); }

  // --- TransactionEffects

  void next_producer_id(std::string transactional_id, Resume resume,
                        std::move_only_function<void(ErrorCode)> refused) override;
  void write_markers(coordinator::TransactionMarkers markers) override;

 private:
  /// As a machine's: it does not happen once that has died.
  void later(int64_t delay_ms, std::function<void()> event);
  coordinator::RequestContext context(int16_t version) const;
  void append_verified(const PartitionName& name, const TransactionalWrite& write,
                       const storage::TransactionCheck& check, const Answer<ErrorCode>& answer);
  void markers_are_durable(const coordinator::TransactionMarkers& markers,
                           const std::vector<coordinator::MarkerResult>& results);
  void crash();

  World& world_;
  const int64_t die_after_;
  metadata::StaticConfig config_;
  int64_t last_producer_id_ = 1000;
  int32_t coordinator_epoch_ = 0;
  std::map<PartitionName, SimulatedPartition> partitions_;
  int64_t incarnation_ = 0;
  int64_t crashes_ = 0;
  int64_t appended_ = 0;
  std::map<PartitionName, bool> syncing_;
  bool coordinator_syncing_ = false;
  coordinator::testing::ShardRunner<coordinator::TransactionShard> runner_;
  TimestampMs begun_;
};

}  // namespace barnabas::sim
