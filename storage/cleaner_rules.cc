#include "storage/cleaner_rules.h"

#include <algorithm>
#include <limits>

namespace barnabas::storage {

using protocol::RecordBatchHeader;

// --- what to clean -----------------------------------------------------------------------------------------

Offset first_dirty_offset(std::optional<Offset> cleaned_to, Offset log_start, Offset log_end) {
  if (!cleaned_to || *cleaned_to < log_start || *cleaned_to > log_end) return log_start;
  return *cleaned_to;
}

Offset first_uncleanable_offset(std::span<const CleanerSegment> segments, Offset first_dirty, Offset bound) {
  Offset start = segments.front().base_offset;
  for (const CleanerSegment& segment : segments)
    if (segment.base_offset <= bound) start = segment.base_offset;
  return std::max(first_dirty, start);
}

CleaningNeed cleaning_need(std::span<const CleanerSegment> segments, Offset first_dirty,
                           Offset first_uncleanable) {
  CleaningNeed need;
  need.first_dirty = first_dirty;
  need.first_uncleanable = first_uncleanable;
  if (first_dirty >= first_uncleanable) return need;
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    if (segments[i].base_offset < first_dirty) need.clean_bytes += segments[i].size_bytes;
    if (segments[i].base_offset < first_uncleanable && segments[i + 1].base_offset > first_dirty)
      need.cleanable_bytes += segments[i].size_bytes;
  }
  return need;
}

std::vector<std::size_t> group_segments(std::span<const GroupingSegment> segments, Offset end,
                                        const LogConfig& config) {
  const auto bytes_max = static_cast<uint64_t>(config.segment_bytes);
  const auto index_max = static_cast<uint64_t>(config.segment_index_bytes);
  std::vector<std::size_t> groups;
  for (std::size_t first = 0; first < segments.size();) {
    uint64_t bytes = 0, offset_index = 0, time_index = 0;
    std::size_t next = first;
    for (; next < segments.size(); ++next) {
      const GroupingSegment& segment = segments[next];
      bytes += segment.size_bytes;
      offset_index += segment.offset_index_bytes;
      time_index += segment.time_index_bytes;
      const Offset behind = next + 1 < segments.size() ? segments[next + 1].base_offset : end;
      const bool fits = bytes <= bytes_max && offset_index <= index_max && time_index <= index_max &&
                        (segment.size_bytes == 0 ||
                         behind - segments[first].base_offset - 1 <= std::numeric_limits<int32_t>::max());
      if (!fits && next > first) break;
    }
    groups.push_back(next - first);
    first = next;
  }
  return groups;
}

// --- transactions ------------------------------------------------------------------------------------------

void CleanedTransactions::add(const AbortedTransaction& transaction) {
  std::vector<AbortedTransaction>& aborted = producers_[transaction.producer_id].aborted;
  const auto at =
      std::ranges::lower_bound(aborted, transaction.last_offset, {}, &AbortedTransaction::last_offset);
  if (at != aborted.end() && at->last_offset == transaction.last_offset) return;
  aborted.insert(at, transaction);
}

// The transaction of a producer that is not over at `offset`.
AbortedTransaction* CleanedTransactions::current(ProducerId id, Offset offset) {
  const auto found = producers_.find(id);
  if (found == producers_.end()) return nullptr;
  Producer& producer = found->second;
  while (producer.next < producer.aborted.size() && producer.aborted[producer.next].last_offset < offset) {
    ++producer.next;
    producer.read_aborted_data = false;
  }
  if (producer.next == producer.aborted.size()) return nullptr;
  AbortedTransaction& next = producer.aborted[producer.next];
  return next.first_offset <= offset ? &next : nullptr;
}

bool CleanedTransactions::read_data(const RecordBatchHeader& batch) {
  if (!batch.is_transactional()) return false;
  if (current(batch.producer_id, batch.last_offset()) != nullptr) {
    producers_[batch.producer_id].read_aborted_data = true;
    return true;
  }
  with_live_data_.insert(batch.producer_id);
  return false;
}

bool CleanedTransactions::read_control(const RecordBatchHeader& batch,
                                       const std::optional<EndTransactionMarker>& marker,
                                       std::vector<AbortedTransaction>& still_aborted) {
  if (batch.record_count == 0) return true;
  if (!marker) return false;  // not about a transaction
  // Data that an index does not know to be aborted has passed as live, and wants its marker all the same.
  const bool had_live_data = with_live_data_.erase(batch.producer_id) != 0;
  if (!marker->abort) return !had_live_data;
  const AbortedTransaction* aborted = current(batch.producer_id, batch.base_offset);
  if (aborted == nullptr || aborted->last_offset != batch.base_offset) return !had_live_data;
  Producer& producer = producers_[batch.producer_id];
  if (producer.read_aborted_data) still_aborted.push_back(*aborted);
  const bool had_data = had_live_data || producer.read_aborted_data;
  ++producer.next;
  producer.read_aborted_data = false;
  return !had_data;
}

// --- batches and records -----------------------------------------------------------------------------------

LastRecords last_records(std::span<const ProducerStateEntry> producers) {
  LastRecords last;
  last.reserve(producers.size());
  for (const ProducerStateEntry& producer : producers)
    last[producer.producer_id] = {producer.last_offset(), producer.epoch};
  return last;
}

namespace {

bool is_last_of_producer(const RecordBatchHeader& batch, const LastRecords& last_records) {
  if (!batch.has_producer_id()) return false;
  const auto last = last_records.find(batch.producer_id);
  if (last == last_records.end()) return false;
  if (last->second.data_offset != no_offset) return batch.last_offset() == last->second.data_offset;
  return batch.is_control() && batch.producer_epoch == last->second.epoch;
}

}  // namespace

BatchVerdict judge_batch(const RecordBatchHeader& batch, bool discardable, const LastRecords& last_records,
                         const CleaningRound& round) {
  const auto horizon = batch.delete_horizon();
  BatchVerdict verdict;
  verdict.drops_all_records = discardable && (!batch.is_control() || (horizon && *horizon <= round.now));
  verdict.gets_horizon = discardable && batch.is_control() && !horizon;
  verdict.stays_when_empty = is_last_of_producer(batch, last_records) || batch.next_offset() == round.end;
  return verdict;
}

bool record_stays(const protocol::RecordFacts& record, std::optional<Offset> newest,
                  const RecordBatchHeader& batch, const CleaningRound& round) {
  if (record.offset >= round.mapped_to) return true;
  // Was let in before the topic became a compacted one; as Kafka, compaction has no place for it.
  if (!record.has_key) return false;
  if (newest && *newest > record.offset) return false;
  const auto horizon = batch.delete_horizon();
  return record.has_value || !horizon || round.now < *horizon;
}

TimestampMs new_delete_horizon(const CleaningRound& round) {
  constexpr int64_t end_of_time = std::numeric_limits<int64_t>::max();
  if (round.now.value() > 0 && round.delete_retention_ms > end_of_time - round.now.value())
    return TimestampMs(end_of_time);
  return round.now + round.delete_retention_ms;
}

}  // namespace barnabas::storage
