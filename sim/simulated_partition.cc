#include "sim/simulated_partition.h"

#include <utility>

#include "base/assert.h"

namespace barnabas::sim {
namespace {

constexpr std::string_view offsets_topic = "topic";

SimulatedBatch batch_of(ProducerId producer, ProducerEpoch epoch, int32_t sequence, bool control) {
  SimulatedBatch batch;
  batch.header.producer_id = producer;
  batch.header.producer_epoch = epoch;
  batch.header.base_sequence = sequence;
  batch.header.record_count = 1;
  batch.header.attributes = protocol::batch_format::transactional_bit;
  if (control) batch.header.attributes |= protocol::batch_format::control_bit;
  return batch;
}

}  // namespace

Result<storage::VerificationGuard> SimulatedPartition::begin_verification(
    const storage::TransactionBegin& begin, TimestampMs now) {
  return producers_.begin_verification(begin, storage::VerificationGuard{++last_guard_}, now);
}

Result<void> SimulatedPartition::append(ProducerId producer, ProducerEpoch epoch, int32_t sequence,
                                        Attempt& attempt, const storage::TransactionCheck& check,
                                        TimestampMs now) {
  SimulatedBatch batch = batch_of(producer, epoch, sequence, false);
  batch.attempt = &attempt;
  batch.header.base_offset = end();
  batch.header.max_timestamp = now;
  const auto origin = holds_offsets_ ? storage::AppendOrigin::coordinator : storage::AppendOrigin::client;
  if (!holds_offsets_ && producers_.find_duplicate(batch.header)) return {};
  BARNABAS_TRY(producers_.check(batch.header, origin, check));
  take_over(batch);
  log_.push_back(batch);
  return {};
}

Result<void> SimulatedPartition::append_marker(const coordinator::TransactionMarkers& markers,
                                               TimestampMs now) {
  SimulatedBatch batch = batch_of(markers.producer_id, markers.producer_epoch, no_sequence, true);
  batch.header.base_offset = end();
  batch.header.max_timestamp = now;
  batch.marker = {
      .abort = !markers.committed, .coordinator_epoch = markers.coordinator_epoch, .timestamp = now};
  BARNABAS_TRY(producers_.check_marker(batch.header, batch.marker, storage::AppendOrigin::coordinator,
                                       markers.transaction_version));
  take_over(batch);
  log_.push_back(batch);
  return {};
}

void SimulatedPartition::take_over(const SimulatedBatch& batch) {
  if (holds_offsets_ && !offsets_) offsets_.emplace();
  if (batch.header.is_control()) {
    producers_.append_marker(batch.header, batch.marker);
    if (offsets_) offsets_->end_transaction(batch.header.producer_id, !batch.marker.abort);
    return;
  }
  producers_.append(batch.header);
  if (!offsets_) return;
  coordinator::CommittedOffset offset;
  offset.offset = batch.attempt->number;
  offset.record_offset = batch.header.base_offset;
  offsets_->put({batch.attempt->transactional_id, offsets_topic, 0}, offset, batch.header.producer_id);
}

void SimulatedPartition::sync() {
  durable_ = log_.size();
  for (const auto& done : std::exchange(waiting_, {})) done();
}

void SimulatedPartition::crash(std::size_t kept) {
  BARNABAS_ASSERT(kept >= durable_ && kept <= log_.size());
  waiting_.clear();
  log_.resize(kept);
  durable_ = kept;
  producers_ = storage::ProducerState();
  offsets_.reset();
  for (const SimulatedBatch& batch : log_) take_over(batch);
}

Offset SimulatedPartition::last_stable() {
  return std::min(high_watermark(),
                  producers_.first_unstable_offset(high_watermark()).value_or(high_watermark()));
}

int64_t SimulatedPartition::committed_number(const std::string& transactional_id) const {
  const auto* offset = offsets_ ? offsets_->find({transactional_id, offsets_topic, 0}) : nullptr;
  return offset == nullptr ? 0 : offset->offset;
}

}  // namespace barnabas::sim
