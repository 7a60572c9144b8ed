#include "protocol/records/record_reader.h"
#include "storage/log_state.h"

namespace barnabas::storage {
namespace {

struct SegmentList {
  std::vector<std::shared_ptr<LogSegment>> segments;
  Offset log_start;
};

SegmentList list_segments(const LogState& log) {
  std::lock_guard lock(log.mutex);
  return {log.segments, log.log_start.load()};
}

// The first record at or after `timestamp` in one segment.
Result<std::optional<TimestampedOffset>> find_in_segment(LogSegment& segment, TimestampMs timestamp,
                                                         Offset from) {
  BARNABAS_ASSIGN(const Offset near, segment.offset_before_timestamp(timestamp));
  const uint64_t size = segment.size();
  BARNABAS_ASSIGN(const auto first, segment.find_batch(std::max(near, from), size));
  if (!first) return std::nullopt;
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, segment.file());
  HeaderScanner scanner(*file, first->position, size);
  while (true) {
    BARNABAS_ASSIGN(const std::optional<BatchAt> batch, scanner.next());
    if (!batch) return std::nullopt;
    if (batch->header.max_timestamp < timestamp) continue;
    BARNABAS_ASSIGN(const std::vector<std::byte> bytes, read_batch(*file, batch->position, size));
    BARNABAS_ASSIGN(const auto record, protocol::find_first_record_at_or_after(
                                           protocol::RecordBatchView::trusted(bytes), timestamp, from));
    if (record)
      return TimestampedOffset{record->timestamp, record->offset, batch->header.partition_leader_epoch};
  }
}

Result<std::optional<TimestampedOffset>> first_at_or_after(const LogState& log, TimestampMs timestamp) {
  const SegmentList list = list_segments(log);
  for (const auto& segment : list.segments) {
    BARNABAS_ASSIGN(const auto max, segment->max_timestamp());
    if (max.timestamp < timestamp) continue;
    BARNABAS_ASSIGN(const auto found, find_in_segment(*segment, timestamp, list.log_start));
    if (found) return found;
  }
  return std::nullopt;
}

Result<std::optional<TimestampedOffset>> record_of_max_timestamp(const LogState& log) {
  const SegmentList list = list_segments(log);
  // What lies below the log start does not count; Kafka looks at whole segments, and so does this but for the
  // first.
  std::optional<LogSegment::MaxTimestamp> best;
  std::shared_ptr<LogSegment> where;
  for (const auto& segment : list.segments) {
    BARNABAS_ASSIGN(const auto max, segment->max_timestamp());
    if (segment->size() == 0 || (best && max.timestamp <= best->timestamp)) continue;
    best = max;
    where = segment;
  }
  if (!best || best->timestamp < TimestampMs{0}) return std::nullopt;
  const uint64_t size = where->size();
  BARNABAS_ASSIGN(const auto batch, where->find_batch(best->offset, size));
  if (!batch) return std::nullopt;
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, where->file());
  BARNABAS_ASSIGN(const std::vector<std::byte> bytes, read_batch(*file, batch->position, size));
  BARNABAS_ASSIGN(const auto record,
                  protocol::find_max_timestamp_record(protocol::RecordBatchView::trusted(bytes)));
  if (!record || record->offset < list.log_start) return first_at_or_after(log, best->timestamp);
  return TimestampedOffset{record->timestamp, record->offset, batch->header.partition_leader_epoch};
}

}  // namespace

Result<std::optional<TimestampedOffset>> Log::offset_for_timestamp(TimestampMs timestamp) {
  return state_->with_steady_segments([&] { return first_at_or_after(*state_, timestamp); });
}

Result<std::optional<TimestampedOffset>> Log::offset_of_max_timestamp() {
  return state_->with_steady_segments([&] { return record_of_max_timestamp(*state_); });
}

}  // namespace barnabas::storage
