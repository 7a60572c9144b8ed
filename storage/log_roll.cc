#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "base/random.h"
#include "storage/log_state.h"
#include "storage/producer_snapshot.h"

namespace barnabas::storage {

namespace {

// The active segment is never compacted.
int64_t segment_age_max(const LogConfig& config) {
  return config.cleanup_compact ? std::min(config.segment_ms, config.max_compaction_lag_ms)
                                : config.segment_ms;
}

}  // namespace

bool LogState::must_roll(uint64_t bytes, TimestampMs max_timestamp, Offset last_offset, TimestampMs now,
                         Result<void>& error) {
  LogSegment& segment = active();
  if (last_offset - segment.base_offset() > std::numeric_limits<int32_t>::max()) return true;
  error = segment.prepare_append();
  if (!error || segment.size() == 0) return false;
  if (segment.size() + bytes > static_cast<uint64_t>(config->segment_bytes)) return true;
  if (segment.index_full(config->segment_index_bytes)) return true;
  const auto first = segment.first_timestamp();
  if (!first) {
    error = std::unexpected(first.error());
    return false;
  }
  // Kafka's clock here is the records' own: old data that is loaded in one go does not make a segment per
  // batch.
  const int64_t waited = *first >= TimestampMs{0} ? max_timestamp - *first : now - segment.created();
  return waited > segment_age_max(*config) - roll_jitter_ms;
}

Result<void> LogState::roll(Offset base_offset, TimestampMs now) {
  BARNABAS_TRY(active().finish_indexes());
  BARNABAS_TRY(load_producers());
  BARNABAS_TRY(write_snapshot(base_offset));
  BARNABAS_ASSIGN(std::shared_ptr<LogSegment> segment, LogSegment::create(files, base_offset, now));
  if (config->segment_jitter_ms > 0) {
    const auto most = static_cast<uint64_t>(std::min(config->segment_jitter_ms, config->segment_ms));
    roll_jitter_ms = static_cast<int64_t>(SeededRandom(static_cast<uint64_t>(base_offset.value()) ^
                                                       std::hash<std::string>{}(topic) ^
                                                       static_cast<uint64_t>(partition.value()) << 40)
                                              .below(most + 1));
  }
  changed_since_open = true;
  std::lock_guard lock(mutex);
  segments.push_back(std::move(segment));
  directory_dirty = true;
  return {};
}

Result<bool> Log::roll_if_due(TimestampMs now) {
  std::lock_guard lock(state_->append_mutex);
  BARNABAS_TRY(state_->check_writable());
  LogSegment& segment = state_->active();
  if (segment.size() == 0) return false;
  BARNABAS_ASSIGN(const TimestampMs first, segment.first_timestamp());
  const TimestampMs begun = first >= TimestampMs{0} ? first : segment.created();
  if (now - begun <= segment_age_max(*state_->config) - state_->roll_jitter_ms) return false;
  BARNABAS_TRY(segment.prepare_append());
  BARNABAS_TRY(state_->roll(state_->log_end.load(), now));
  return true;
}

Result<void> Log::roll(TimestampMs now) {
  std::lock_guard lock(state_->append_mutex);
  BARNABAS_TRY(state_->check_writable());
  if (state_->active().size() == 0) return {};
  BARNABAS_TRY(state_->active().prepare_append());
  return state_->roll(state_->log_end.load(), now);
}

// --- producer snapshots ------------------------------------------------------------------------------------

Result<void> LogState::write_snapshot(Offset offset) {
  if (offset == Offset{0} || (!snapshots.empty() && snapshots.back() >= offset)) return {};
  const std::string path = files->path(offset, producer_snapshot_suffix);
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, disk().open(path, io::OpenMode::create));
  BARNABAS_TRY(file->truncate(0));
  if (auto written = file->write_at(ByteView(producer_snapshot::format(producers->entries())), 0); !written) {
    static_cast<void>(disk().remove(path).has_value());
    return written;
  }
  snapshots.push_back(offset);
  {
    std::lock_guard lock(mutex);
    directory_dirty = true;
    unsynced_files.push_back(path);
  }
  return remove_stray_snapshots();
}

// Each segment keeps the snapshot at its base; of the others only the newest is of use.
Result<void> LogState::remove_stray_snapshots() {
  for (std::size_t i = 0; i + 1 < snapshots.size();) {
    const bool at_segment = std::ranges::binary_search(segments, snapshots[i], {}, &LogSegment::base_offset);
    if (at_segment) {
      ++i;
      continue;
    }
    auto removed = disk().remove(files->path(snapshots[i], producer_snapshot_suffix));
    if (!removed && removed.error().kind != ErrorKind::not_found) return removed;
    snapshots.erase(snapshots.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return {};
}

void LogState::truncate_snapshots(Offset above) {
  while (!snapshots.empty() && snapshots.back() > above) {
    static_cast<void>(disk().remove(files->path(snapshots.back(), producer_snapshot_suffix)).has_value());
    snapshots.pop_back();
  }
}

}  // namespace barnabas::storage
