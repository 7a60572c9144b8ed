#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/offset_store.h"
#include "coordinator/transaction_shard.h"
#include "protocol/records/record_batch.h"
#include "sim/history.h"
#include "storage/producer_state.h"

namespace barnabas::sim {

struct SimulatedBatch {
  protocol::RecordBatchHeader header;
  storage::EndTransactionMarker marker = {};  ///< of a control batch
  Attempt* attempt = nullptr;                 ///< of others
};

/// A partition that takes part in transactions: its batches, as far as they are durable, and what its leader
/// knows of producers. The one of offsets keeps those of a group for each transactional id.
class SimulatedPartition {
 public:
  explicit SimulatedPartition(bool holds_offsets) : holds_offsets_(holds_offsets) {}

  const std::vector<SimulatedBatch>& log() const { return log_; }
  std::size_t durable() const { return durable_; }
  bool is_durable() const { return durable_ == log_.size(); }

  Result<storage::VerificationGuard> begin_verification(const storage::TransactionBegin& begin,
                                                        TimestampMs now);
  void refuse_verification(ProducerId producer, storage::VerificationGuard guard) {
    producers_.refuse_verification(producer, guard);
  }
  /// A batch of one record. Of a repeated one nothing but the place is used.
  Result<void> append(ProducerId producer, ProducerEpoch epoch, int32_t sequence, Attempt& attempt,
                      const storage::TransactionCheck& check, TimestampMs now);
  Result<void> append_marker(const coordinator::TransactionMarkers& markers, TimestampMs now);

  /// Runs once all that is appended now is durable; not at all if the machine dies before.
  void when_durable(std::function<void()> done) {
    if (is_durable()) return done();
    waiting_.push_back(std::move(done));
  }
  void sync();
  /// The machine dies; what is behind `kept` batches, at least what is durable, is lost.
  void crash(std::size_t kept);

  Offset end() const { return Offset(static_cast<int64_t>(log_.size())); }
  Offset high_watermark() const { return Offset(static_cast<int64_t>(durable_)); }
  Offset last_stable();
  /// The newest attempt whose offsets count; 0: none.
  int64_t committed_number(const std::string& transactional_id) const;

 private:
  void take_over(const SimulatedBatch& batch);

  const bool holds_offsets_;
  std::vector<SimulatedBatch> log_;
  std::size_t durable_ = 0;
  storage::ProducerState producers_;
  std::optional<coordinator::OffsetStore> offsets_;
  int64_t last_guard_ = 0;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace barnabas::sim
