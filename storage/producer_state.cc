#include "storage/producer_state.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/assert.h"

namespace barnabas::storage {
namespace {

constexpr int64_t sequence_count = int64_t{std::numeric_limits<int32_t>::max()} + 1;

bool follows(int32_t last, int32_t next) {
  return next == (int64_t{last} + 1) % sequence_count;
}

std::string describe(ProducerId id, ProducerEpoch epoch) {
  return "producer " + std::to_string(id.value()) + " epoch " + std::to_string(epoch.value());
}

std::string describe(const protocol::RecordBatchHeader& batch) {
  return describe(batch.producer_id, batch.producer_epoch);
}

std::unexpected<Error> old_epoch(const protocol::RecordBatchHeader& batch, ProducerEpoch known) {
  return fail(ErrorKind::invalid_producer_epoch,
              describe(batch) + ": the last seen epoch is " + std::to_string(known.value()));
}

std::unexpected<Error> out_of_order(const protocol::RecordBatchHeader& batch, int32_t expected) {
  return fail(ErrorKind::out_of_order_sequence, describe(batch) + ": sequence " +
                                                    std::to_string(batch.base_sequence) + ", expected " +
                                                    std::to_string(expected));
}

}  // namespace

int32_t ProducerBatch::first_sequence() const {
  if (last_sequence < 0) return last_sequence;
  const int64_t first = int64_t{last_sequence} - offset_delta;
  return static_cast<int32_t>(first >= 0 ? first : first + sequence_count);
}

void ProducerStateEntry::add_batch(ProducerEpoch new_epoch, const ProducerBatch& batch) {
  if (new_epoch != epoch) {
    epoch = new_epoch;
    batch_count = 0;
    history_complete = true;
  }
  if (batch_count == batches_max) {
    std::shift_left(batches.begin(), batches.end(), 1);
    --batch_count;
  }
  batches[batch_count++] = batch;
  if (batch_count == batches_max) history_complete = true;
  last_timestamp = batch.timestamp;
}

std::optional<ProducerBatch> ProducerState::find_duplicate(const protocol::RecordBatchHeader& batch) const {
  const ProducerStateEntry* entry = find(batch.producer_id);
  if (entry == nullptr || entry->epoch != batch.producer_epoch) return std::nullopt;
  for (const ProducerBatch& known : entry->known_batches())
    if (known.first_sequence() == batch.base_sequence && known.last_sequence == batch.last_sequence())
      return known;
  return std::nullopt;
}

Result<VerificationGuard> ProducerState::begin_verification(const TransactionBegin& batch,
                                                            VerificationGuard fresh, TimestampMs now) {
  if (const ProducerStateEntry* entry = find(batch.producer_id)) {
    if (batch.epoch < entry->epoch)
      return fail(ErrorKind::invalid_producer_epoch, describe(batch.producer_id, batch.epoch) +
                                                         ": the last seen epoch is " +
                                                         std::to_string(entry->epoch.value()));
    if (entry->in_transaction(batch.epoch)) return no_guard;
  }
  return verifications_.begin(batch, fresh, now);
}

Result<void> ProducerState::check(const protocol::RecordBatchHeader& batch, AppendOrigin origin,
                                  const TransactionCheck& transaction) const {
  if (origin == AppendOrigin::replication) return {};
  const ProducerStateEntry* entry = find(batch.producer_id);
  const ProducerEpoch known = entry == nullptr ? no_producer_epoch : entry->epoch;
  if (batch.producer_epoch < known) return old_epoch(batch, known);
  if (batch.is_transactional()) BARNABAS_TRY(check_transaction(batch, entry, transaction));
  if (origin == AppendOrigin::client) BARNABAS_TRY(check_sequence(batch, entry));
  if (entry != nullptr && entry->current_txn_first_offset != no_offset && !batch.is_transactional())
    return fail(ErrorKind::invalid_transaction_state,
                describe(batch) + ": a batch outside of the transaction that began at offset " +
                    std::to_string(entry->current_txn_first_offset.value()));
  return {};
}

Result<void> ProducerState::check_transaction(const protocol::RecordBatchHeader& batch,
                                              const ProducerStateEntry* entry,
                                              const TransactionCheck& transaction) const {
  if (!transaction.must_be_verified) return {};
  const bool is_open = entry != nullptr && entry->in_transaction(batch.producer_epoch);
  if (is_open && verifications_.may_go_on(batch.producer_id, transaction.guard)) return {};
  const auto* pending = verifications_.find(batch.producer_id);
  if (pending != nullptr && pending->guard == transaction.guard) return {};
  return fail(ErrorKind::invalid_transaction_state,
              describe(batch) + ": a batch of a transaction that is not open here");
}

Result<void> ProducerState::check_sequence(const protocol::RecordBatchHeader& batch,
                                           const ProducerStateEntry* entry) const {
  if (const auto* pending = verifications_.find(batch.producer_id)) {
    const bool nothing_known = entry == nullptr || entry->empty();
    if (pending->adds_partition && nothing_known && batch.base_sequence != 0) return out_of_order(batch, 0);
    if (batch.base_sequence > pending->lowest_sequence) return out_of_order(batch, pending->lowest_sequence);
  }
  if (entry == nullptr || entry->epoch == no_producer_epoch) return {};
  if (batch.producer_epoch != entry->epoch)
    return batch.base_sequence == 0 ? Result<void>{} : out_of_order(batch, 0);
  if (!follows(entry->last_sequence(), batch.base_sequence))
    return out_of_order(batch, static_cast<int32_t>((int64_t{entry->last_sequence()} + 1) % sequence_count));
  return {};
}

Result<void> ProducerState::check_marker(const protocol::RecordBatchHeader& batch,
                                         const EndTransactionMarker& marker, AppendOrigin origin,
                                         int16_t marker_version) const {
  if (origin == AppendOrigin::replication) return {};
  const ProducerStateEntry* entry = find(batch.producer_id);
  if (entry == nullptr) return {};
  if (batch.producer_epoch < entry->epoch) return old_epoch(batch, entry->epoch);
  // The last epoch has no newer one: the coordinator goes on with another producer id.
  constexpr ProducerEpoch last_epoch{std::numeric_limits<int16_t>::max()};
  if (marker_version >= 2 && batch.producer_epoch == entry->epoch &&
      entry->current_txn_first_offset != no_offset && batch.producer_epoch != last_epoch)
    return old_epoch(batch, entry->epoch);
  if (entry->coordinator_epoch > marker.coordinator_epoch)
    return fail(ErrorKind::coordinator_fenced, describe(batch) + ": marker of coordinator epoch " +
                                                   std::to_string(marker.coordinator_epoch) +
                                                   ", the last seen one is " +
                                                   std::to_string(entry->coordinator_epoch));
  return {};
}

void ProducerState::append(const protocol::RecordBatchHeader& batch) {
  ProducerStateEntry& entry = entry_of(batch.producer_id);
  entry.add_batch(batch.producer_epoch, {.last_sequence = batch.last_sequence(),
                                         .offset_delta = batch.last_offset_delta,
                                         .last_offset = batch.last_offset(),
                                         .timestamp = batch.max_timestamp});
  if (batch.is_transactional() && entry.current_txn_first_offset == no_offset) {
    entry.current_txn_first_offset = batch.base_offset;
    open_transactions_.emplace(batch.base_offset.value(), batch.producer_id);
  }
  if (batch.is_transactional()) verifications_.opened(batch.producer_id);
}

std::optional<CompletedTransaction> ProducerState::append_marker(const protocol::RecordBatchHeader& batch,
                                                                 const EndTransactionMarker& marker) {
  ProducerStateEntry& entry = entry_of(batch.producer_id);
  if (entry.epoch != batch.producer_epoch) {
    entry.epoch = batch.producer_epoch;
    entry.batch_count = 0;
    entry.history_complete = true;
  }
  entry.coordinator_epoch = marker.coordinator_epoch;
  entry.last_timestamp = marker.timestamp;
  verifications_.clear(batch.producer_id);
  const auto completed = ended_by(batch, marker);
  if (!completed) return std::nullopt;
  entry.current_txn_first_offset = no_offset;
  open_transactions_.erase(completed->first_offset.value());
  unreplicated_.insert_or_assign(completed->first_offset.value(), *completed);
  return completed;
}

std::optional<CompletedTransaction> ProducerState::ended_by(const protocol::RecordBatchHeader& batch,
                                                            const EndTransactionMarker& marker) const {
  const ProducerStateEntry* entry = find(batch.producer_id);
  // A marker without records of the transaction changes nothing for readers.
  if (entry == nullptr || entry->current_txn_first_offset == no_offset) return std::nullopt;
  return CompletedTransaction{.producer_id = batch.producer_id,
                              .first_offset = entry->current_txn_first_offset,
                              .last_offset = batch.base_offset,
                              .aborted = marker.abort};
}

Offset ProducerState::stable_offset_after(const CompletedTransaction& completed) const {
  for (const auto& [first_offset, producer_id] : open_transactions_)
    if (producer_id != completed.producer_id) return Offset(first_offset);
  return completed.last_offset + 1;
}

std::optional<Offset> ProducerState::first_unstable_offset(Offset high_watermark) {
  std::erase_if(unreplicated_, [&](const auto& item) { return item.second.last_offset < high_watermark; });
  const auto oldest = oldest_undecided();
  return oldest ? std::optional(oldest->first_offset) : std::nullopt;
}

std::optional<ProducerState::Undecided> ProducerState::oldest_undecided() const {
  std::optional<Undecided> oldest;
  if (!open_transactions_.empty()) oldest = Undecided{Offset(open_transactions_.begin()->first), no_offset};
  if (!unreplicated_.empty()) {
    const auto& [first, completed] = *unreplicated_.begin();
    if (!oldest || Offset(first) < oldest->first_offset)
      oldest = Undecided{Offset(first), completed.last_offset};
  }
  return oldest;
}

std::size_t ProducerState::expire(TimestampMs now, int64_t expiration_ms) {
  verifications_.expire(now, expiration_ms);
  return boost::unordered::erase_if(producers_, [&](const auto& item) {
    const ProducerStateEntry& entry = *item.second;
    return entry.current_txn_first_offset == no_offset && entry.last_timestamp <= now - expiration_ms;
  });
}

void ProducerState::log_start_moved(Offset log_start) {
  std::erase_if(unreplicated_, [&](const auto& item) { return item.second.last_offset < log_start; });
}

void ProducerState::clear() {
  producers_.clear();
  open_transactions_.clear();
  unreplicated_.clear();
}

void ProducerState::load(const ProducerStateEntry& entry) {
  BARNABAS_ASSERT(entry.producer_id > no_producer_id);
  entry_of(entry.producer_id) = entry;
  if (entry.current_txn_first_offset != no_offset)
    open_transactions_.insert_or_assign(entry.current_txn_first_offset.value(), entry.producer_id);
}

const ProducerStateEntry* ProducerState::find(ProducerId id) const {
  auto found = producers_.find(id.value());
  return found == producers_.end() ? nullptr : found->second.get();
}

ProducerStateEntry* ProducerState::find(ProducerId id) {
  auto found = producers_.find(id.value());
  return found == producers_.end() ? nullptr : found->second.get();
}

ProducerStateEntry& ProducerState::entry_of(ProducerId id) {
  std::unique_ptr<ProducerStateEntry>& entry = producers_[id.value()];
  if (!entry) entry = std::make_unique<ProducerStateEntry>();
  entry->producer_id = id;
  return *entry;
}

std::vector<ProducerStateEntry> ProducerState::entries() const {
  std::vector<ProducerStateEntry> sorted;
  sorted.reserve(producers_.size());
  for (const auto& [id, entry] : producers_) sorted.push_back(*entry);
  std::ranges::sort(sorted, {}, &ProducerStateEntry::producer_id);
  return sorted;
}

}  // namespace barnabas::storage
