#include <algorithm>

#include "base/assert.h"
#include "storage/log_segment.h"

namespace barnabas::storage {

Result<void> LogSegment::prepare_append() {
  std::lock_guard lock(mutex_);
  return load_indexes();
}

void LogSegment::note_batch(const protocol::RecordBatchHeader& header, uint64_t position,
                            int32_t index_interval_bytes) {
  std::lock_guard lock(mutex_);
  const int64_t relative = header.last_offset() - base_offset_;
  BARNABAS_ASSERT(relative >= 0 && relative <= INT32_MAX && position <= INT32_MAX);
  if (position == 0) first_timestamp_ = header.max_timestamp;
  if (header.max_timestamp > max_timestamp_.timestamp)
    max_timestamp_ = {header.max_timestamp, header.last_offset()};
  if (bytes_since_index_entry_ > static_cast<uint32_t>(std::max(index_interval_bytes, 0))) {
    offset_index_.append({static_cast<int32_t>(relative), static_cast<int32_t>(position)});
    const auto last = time_index_.last();
    if (max_timestamp_.timestamp > (last ? last->timestamp : no_timestamp))
      time_index_.append(
          {max_timestamp_.timestamp, static_cast<int32_t>(max_timestamp_.offset - base_offset_)});
    bytes_since_index_entry_ = 0;
  }
  bytes_since_index_entry_ += static_cast<uint32_t>(header.size_bytes());
  indexes_synced_ = false;
}

void LogSegment::write_full_index_tails() {
  std::lock_guard lock(mutex_);
  if (offset_index_.tail_full() || time_index_.tail_full()) static_cast<void>(write_tails().has_value());
}

Result<void> LogSegment::write_tails() {
  if (offset_index_.has_tail()) {
    BARNABAS_ASSIGN(const std::shared_ptr<io::File> offsets, index_file(true));
    BARNABAS_TRY(offset_index_.write_tail(*offsets));
  }
  if (time_index_.has_tail()) {
    BARNABAS_ASSIGN(const std::shared_ptr<io::File> times,
                    open_file(time_index_suffix, io::OpenMode::create));
    BARNABAS_TRY(time_index_.write_tail(*times));
  }
  return {};
}

bool LogSegment::index_full(int32_t segment_index_bytes) {
  std::lock_guard lock(mutex_);
  const auto room = static_cast<uint32_t>(std::max(segment_index_bytes, 0));
  // The last place of a time index is kept for the entry that finish_indexes adds.
  return offset_index_.count() >= room / OffsetIndexEntry::size_bytes ||
         time_index_.count() + 1 >= room / TimeIndexEntry::size_bytes;
}

Result<void> LogSegment::finish_indexes() {
  std::lock_guard lock(mutex_);
  if (size() == 0 && !offset_index_.loaded()) return {};
  BARNABAS_TRY(load_indexes());
  const auto last = time_index_.last();
  if (max_timestamp_.timestamp > (last ? last->timestamp : no_timestamp))
    time_index_.append(
        {max_timestamp_.timestamp, static_cast<int32_t>(max_timestamp_.offset - base_offset_)});
  BARNABAS_TRY(write_tails());
  offset_index_.shrink();
  time_index_.shrink();
  return {};
}

Result<void> LogSegment::clear_index_files() {
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> offsets, index_file(true));
  BARNABAS_TRY(offsets->truncate(0));
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> times, open_file(time_index_suffix, io::OpenMode::create));
  return times->truncate(0);
}

Result<void> LogSegment::begin_rebuild() {
  std::lock_guard lock(mutex_);
  BARNABAS_TRY(clear_index_files());
  offset_index_.set_loaded(0, std::nullopt);
  time_index_.set_loaded(0, std::nullopt);
  max_timestamp_ = {no_timestamp, base_offset_};
  first_timestamp_ = no_timestamp;
  bytes_since_index_entry_ = 0;
  indexes_synced_ = false;
  return {};
}

Result<void> LogSegment::rebuild_indexes(int32_t index_interval_bytes) {
  std::lock_guard lock(mutex_);
  return rebuild_locked(index_interval_bytes);
}

Result<void> LogSegment::rebuild_locked(int32_t index_interval_bytes) {
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> log, file());
  OffsetIndex offsets;
  TimeIndex times;
  MaxTimestamp max{no_timestamp, base_offset_};
  uint64_t bytes_since = 0;
  HeaderScanner scanner(*log, 0, size());
  while (true) {
    BARNABAS_ASSIGN(const std::optional<BatchAt> batch, scanner.next());
    if (!batch) break;
    const protocol::RecordBatchHeader& header = batch->header;
    const int64_t relative = header.last_offset() - base_offset_;
    if (relative < 0 || relative > INT32_MAX || batch->position > INT32_MAX)
      return fail(ErrorKind::corrupt, log->path() + ", byte " + std::to_string(batch->position) +
                                          ": last offset " + std::to_string(header.last_offset().value()));
    if (header.max_timestamp > max.timestamp) max = {header.max_timestamp, header.last_offset()};
    if (bytes_since > static_cast<uint64_t>(std::max(index_interval_bytes, 0))) {
      offsets.append({static_cast<int32_t>(relative), static_cast<int32_t>(batch->position)});
      const auto last = times.last();
      if (max.timestamp > (last ? last->timestamp : no_timestamp))
        times.append({max.timestamp, static_cast<int32_t>(max.offset - base_offset_)});
      bytes_since = 0;
    }
    bytes_since += header.size_bytes();
  }
  const auto last = times.last();
  if (max.timestamp > (last ? last->timestamp : no_timestamp))
    times.append({max.timestamp, static_cast<int32_t>(max.offset - base_offset_)});

  BARNABAS_TRY(clear_index_files());
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> offsets_file, index_file(true));
  BARNABAS_TRY(offsets.write_tail(*offsets_file));
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> times_file,
                  open_file(time_index_suffix, io::OpenMode::create));
  BARNABAS_TRY(times.write_tail(*times_file));
  offset_index_ = std::move(offsets);
  time_index_ = std::move(times);
  offset_index_.set_loaded(offset_index_.stored(), offset_index_.last());
  time_index_.set_loaded(time_index_.stored(), time_index_.last());
  max_timestamp_ = max;
  bytes_since_index_entry_ = static_cast<uint32_t>(bytes_since);
  indexes_synced_ = false;
  return {};
}

Result<void> LogSegment::truncate(uint64_t position) {
  BARNABAS_ASSERT(position <= size());
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> log, file());
  BARNABAS_TRY(log->truncate(position));
  BARNABAS_TRY(log->sync_data());
  set_size(position);
  synced_size_.store(0, std::memory_order_release);
  std::lock_guard lock(mutex_);
  first_timestamp_ = no_timestamp;
  return rebuild_locked(default_index_interval_bytes);
}

Result<void> LogSegment::sync(bool with_indexes) {
  const uint64_t written = size();
  if (synced_size_.load(std::memory_order_acquire) < written) {
    auto log = file();
    // Deleted meanwhile, and gone for good.
    if (!log && log.error().kind == ErrorKind::not_found && deleted()) return {};
    if (!log) return std::unexpected(std::move(log).error());
    BARNABAS_TRY((*log)->sync_data());
    synced_size_.store(written, std::memory_order_release);
  }
  if (!with_indexes) return {};
  {
    std::lock_guard lock(mutex_);
    if (indexes_synced_) return {};
    indexes_synced_ = true;
  }
  for (std::string_view suffix : {offset_index_suffix, time_index_suffix, transaction_index_suffix}) {
    auto file = open_file(suffix, io::OpenMode::read_write);
    if (!file && file.error().kind == ErrorKind::not_found) continue;
    if (!file) return std::unexpected(std::move(file).error());
    BARNABAS_TRY((*file)->sync_data());
  }
  return {};
}

void LogSegment::assume_synced() {
  synced_size_.store(size(), std::memory_order_release);
  std::lock_guard lock(mutex_);
  indexes_synced_ = true;
}

Result<std::vector<std::string>> LogSegment::rename_to(SegmentNames names) {
  std::vector<std::string> renamed;
  std::lock_guard lock(names_mutex_);
  const SegmentNames before = names_.load();
  for (std::string_view suffix :
       {log_suffix, offset_index_suffix, time_index_suffix, transaction_index_suffix}) {
    std::string now = path_with(suffix, names);
    auto result = files_->disk().rename(path_with(suffix, before), now);
    if (!result && result.error().kind == ErrorKind::not_found) continue;
    if (!result) return std::unexpected(std::move(result).error());
    renamed.push_back(std::move(now));
  }
  names_.store(names, std::memory_order_release);
  // A file that is to be removed shall not be held open.
  if (names == SegmentNames::deleted) release_files();
  return renamed;
}

Result<LogSegment::IndexBytes> LogSegment::index_bytes() {
  std::lock_guard lock(mutex_);
  if (size() != 0) BARNABAS_TRY(load_indexes());
  return IndexBytes{uint64_t{offset_index_.count()} * OffsetIndexEntry::size_bytes,
                    uint64_t{time_index_.count()} * TimeIndexEntry::size_bytes};
}

void LogSegment::release_files() {
  log_slot_.release();
  index_slot_.release();
}

}  // namespace barnabas::storage
