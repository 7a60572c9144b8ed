#include <limits>

#include <boost/container/small_vector.hpp>

#include "base/assert.h"
#include "protocol/records/record_batch.h"
#include "storage/log_state.h"
#include "storage/producer_snapshot.h"
#include "storage/transaction_index.h"

namespace barnabas::storage {
namespace {

using protocol::RecordBatchHeader;

/// What one append call brings, before and while it becomes part of the log.
struct Appending {
  struct Batch {
    RecordBatchHeader header;
    std::size_t at = 0;  ///< within bytes
  };
  boost::container::small_vector<Batch, 1> batches;
  ByteView bytes;
  TimestampMs max_timestamp = no_timestamp;
  std::optional<EndTransactionMarker> marker;
  std::optional<AbortedTransaction> aborted;
  bool has_producers = false;

  Offset base_offset() const { return batches.front().header.base_offset; }
  Offset last_offset() const { return batches.back().header.last_offset(); }

  void add(const RecordBatchHeader& header, std::size_t at) {
    batches.push_back({header, at});
    max_timestamp = std::max(max_timestamp, header.max_timestamp);
    has_producers = has_producers || header.has_producer_id();
  }
};

// Gives the batches their offsets and epoch, in the headers and in the bytes.
Result<Appending> prepare_as_leader(MutableByteView bytes, Offset next_offset, LeaderEpoch epoch) {
  Appending appending;
  appending.bytes = bytes;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const MutableByteView rest = bytes.subspan(at);
    BARNABAS_ASSIGN(RecordBatchHeader header, RecordBatchHeader::parse(rest));
    if (header.size_bytes() > rest.size() || header.last_offset_delta < 0)
      return fail(ErrorKind::invalid, "append of a batch of " + std::to_string(header.size_bytes()) +
                                          " bytes, last offset delta " +
                                          std::to_string(header.last_offset_delta) + ", with " +
                                          std::to_string(rest.size()) + " bytes");
    header.base_offset = next_offset;
    header.partition_leader_epoch = epoch;
    protocol::set_base_offset(rest, next_offset);
    protocol::set_partition_leader_epoch(rest, epoch);
    next_offset = header.next_offset();
    appending.add(header, at);
    at += header.size_bytes();
  }
  if (appending.batches.empty()) return fail(ErrorKind::invalid, "append of nothing");
  return appending;
}

// Takes whole batches as they are; what is cut at the end stays out.
Result<Appending> prepare_as_follower(ByteView bytes, Offset next_offset) {
  Appending appending;
  std::size_t at = 0;
  protocol::BatchIterator iterator(bytes);
  while (true) {
    const auto step = iterator.next();
    if (step == protocol::BatchIterator::Step::end || step == protocol::BatchIterator::Step::torn) break;
    if (step == protocol::BatchIterator::Step::old_message)
      return fail(ErrorKind::unsupported, "replicated message of an old format");
    if (step != protocol::BatchIterator::Step::batch)
      return fail(ErrorKind::corrupt,
                  "replicated bytes at " + std::to_string(iterator.position()) + " are no batch");
    BARNABAS_ASSIGN(const auto batch, protocol::validate_stored_batch(iterator.batch().bytes()));
    const RecordBatchHeader header = batch.header();
    if (header.base_offset < next_offset)
      return fail(ErrorKind::out_of_range, "replicated batch at offset " +
                                               std::to_string(header.base_offset.value()) +
                                               ", the log end is " + std::to_string(next_offset.value()));
    next_offset = header.next_offset();
    appending.add(header, at);
    at += header.size_bytes();
  }
  if (appending.batches.empty()) return fail(ErrorKind::invalid, "append of nothing");
  appending.bytes = bytes.first(at);
  return appending;
}

// Checks producers and markers; nothing changes but that the state is loaded. With append_mutex held.
Result<void> check_producers(LogState& log, Appending& appending, AppendOrigin origin,
                             const TransactionCheck& transaction) {
  BARNABAS_TRY(log.load_producers());
  if (origin == AppendOrigin::client && appending.batches.size() > 1)
    return fail(ErrorKind::invalid, "more than one batch of an idempotent producer in one append");
  ProducerState& producers = *log.producers;
  for (const auto& [header, at] : appending.batches) {
    if (!header.has_producer_id()) continue;
    if (!header.is_control()) {
      BARNABAS_TRY(producers.check(header, origin, transaction));
      continue;
    }
    const ByteView bytes = appending.bytes.subspan(at, header.size_bytes());
    BARNABAS_ASSIGN(const auto marker,
                    read_end_transaction_marker(protocol::RecordBatchView::trusted(bytes)));
    if (!marker) continue;
    // Replicated batches may hold several; then they are applied one by one after the write.
    if (appending.batches.size() > 1) continue;
    BARNABAS_TRY(producers.check_marker(header, *marker, origin, transaction.marker_version));
    appending.marker = marker;
    const auto completed = producers.ended_by(header, *marker);
    if (completed && completed->aborted)
      appending.aborted =
          AbortedTransaction{completed->producer_id, completed->first_offset, completed->last_offset,
                             producers.stable_offset_after(*completed)};
  }
  return {};
}

void update_producers(LogState& log, const Appending& appending) {
  for (const auto& [header, at] : appending.batches) {
    if (!header.has_producer_id()) continue;
    if (!header.is_control()) {
      log.producers->append(header);
      continue;
    }
    std::optional<EndTransactionMarker> marker = appending.marker;
    if (!marker) {
      const ByteView bytes = appending.bytes.subspan(at, header.size_bytes());
      marker = read_end_transaction_marker(protocol::RecordBatchView::trusted(bytes)).value_or(std::nullopt);
    }
    if (!marker) continue;
    const auto completed = log.producers->append_marker(header, *marker);
    // An entry that cannot be written now comes back with the next recovery; the marker itself is in the log.
    if (!completed || !completed->aborted || appending.aborted) continue;
    log.active().note_aborted(completed->last_offset);
    const AbortedTransaction aborted{completed->producer_id, completed->first_offset, completed->last_offset,
                                     log.producers->stable_offset_after(*completed)};
    static_cast<void>(
        transaction_index::append(log.disk(), log.active().path(transaction_index_suffix), aborted)
            .has_value());
  }
  if (log.producers->has_unstable()) log.note_undecided();
}

// One write; after an error the file ends where it ended before.
Result<void> write(LogState& log, const Appending& appending) {
  LogSegment& segment = log.active();
  const uint64_t position = segment.size();
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segment.file());
  Result<void> written = file->write_at(appending.bytes, position);
  if (written && appending.aborted) {
    segment.note_aborted(appending.aborted->last_offset);
    written =
        transaction_index::append(log.disk(), segment.path(transaction_index_suffix), *appending.aborted);
  }
  if (written) return {};
  if (auto undone = file->truncate(position); !undone) return log.broken_by(std::move(undone).error());
  return written;
}

Result<AppendResult> append(LogState& log, Appending& appending, TimestampMs now, AppendOrigin origin) {
  // One replicated batch may be larger, if the setting was when it was made: it gets a segment of its own.
  const bool one_replicated = origin == AppendOrigin::replication && appending.batches.size() == 1;
  if (appending.bytes.size() > static_cast<std::size_t>(log.config->segment_bytes) && !one_replicated)
    return fail(ErrorKind::too_large, "append of " + std::to_string(appending.bytes.size()) +
                                          " bytes, segment.bytes is " +
                                          std::to_string(log.config->segment_bytes));
  Result<void> roll_error;
  if (log.must_roll(appending.bytes.size(), appending.max_timestamp, appending.last_offset(), now,
                    roll_error)) {
    BARNABAS_TRY(log.roll(appending.base_offset(), now));
  }
  BARNABAS_TRY(roll_error);
  BARNABAS_TRY(write(log, appending));

  LogSegment& segment = log.active();
  const uint64_t position = segment.size();
  for (const auto& [header, at] : appending.batches) {
    segment.note_batch(header, position + at, log.config->index_interval_bytes);
    if (header.partition_leader_epoch > log.latest_epoch.load(std::memory_order_relaxed)) {
      std::lock_guard lock(log.mutex);
      log.note_epoch(header.partition_leader_epoch, header.base_offset);
    }
  }
  if (appending.has_producers) update_producers(log, appending);
  log.changed_since_open = true;
  {
    std::lock_guard lock(log.mutex);
    segment.set_size(position + appending.bytes.size());
    log.log_end.store(appending.last_offset() + 1, std::memory_order_release);
  }
  log.note_change();
  if (log.first_unflushed_ms.load(std::memory_order_relaxed) < 0) log.first_unflushed_ms.store(now.value());
  segment.write_full_index_tails();
  return AppendResult{.base_offset = appending.base_offset(),
                      .last_offset = appending.last_offset(),
                      .log_start_offset = log.log_start.load(),
                      .max_timestamp = appending.max_timestamp};
}

// With append_mutex held. A batch that would be refused may be a repeat of one that a snapshot had no room
// for.
Result<std::optional<ProducerBatch>> find_duplicate(LogState& log, const RecordBatchHeader& header) {
  BARNABAS_TRY(log.load_producers());
  if (auto known = log.producers->find_duplicate(header)) return known;
  ProducerStateEntry* entry = log.producers->find(header.producer_id);
  if (entry == nullptr || entry->history_complete || entry->epoch != header.producer_epoch ||
      log.producers->check(header, AppendOrigin::client))
    return std::nullopt;
  BARNABAS_TRY(log.complete_history(*entry));
  return log.producers->find_duplicate(header);
}

}  // namespace

Result<AppendResult> Log::append_as_leader(MutableByteView batches, LeaderEpoch epoch, TimestampMs now,
                                           AppendOrigin origin, const TransactionCheck& transaction) {
  std::lock_guard lock(state_->append_mutex);
  BARNABAS_TRY(state_->check_writable());
  BARNABAS_ASSIGN(Appending appending, prepare_as_leader(batches, state_->log_end.load(), epoch));
  if (appending.has_producers) {
    const RecordBatchHeader& first = appending.batches.front().header;
    if (origin == AppendOrigin::client && !first.is_control()) {
      BARNABAS_ASSIGN(const auto duplicate, find_duplicate(*state_, first));
      if (duplicate)
        return AppendResult{.base_offset = duplicate->base_offset(),
                            .last_offset = duplicate->last_offset,
                            .log_start_offset = state_->log_start.load(),
                            .max_timestamp = duplicate->timestamp,
                            .duplicate = true};
    }
    BARNABAS_TRY(check_producers(*state_, appending, origin, transaction));
  }
  return append(*state_, appending, now, origin);
}

Result<AppendResult> Log::append_as_follower(ByteView batches, TimestampMs now) {
  std::lock_guard lock(state_->append_mutex);
  BARNABAS_TRY(state_->check_writable());
  BARNABAS_ASSIGN(Appending appending, prepare_as_follower(batches, state_->log_end.load()));
  if (appending.has_producers)
    BARNABAS_TRY(check_producers(*state_, appending, AppendOrigin::replication, {}));
  return append(*state_, appending, now, AppendOrigin::replication);
}

}  // namespace barnabas::storage
