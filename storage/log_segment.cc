#include "storage/log_segment.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "storage/transaction_index.h"

namespace barnabas::storage {

LogSegment::LogSegment(std::shared_ptr<LogFiles> files, Offset base_offset, uint64_t size,
                       TimestampMs created)
    : files_(std::move(files)), base_offset_(base_offset), created_(created), size_(size) {
  max_timestamp_.offset = base_offset;
}

Result<std::shared_ptr<LogSegment>> LogSegment::create(std::shared_ptr<LogFiles> files, Offset base_offset,
                                                       TimestampMs created, SegmentNames names) {
  auto segment = std::make_shared<LogSegment>(std::move(files), base_offset, 0, created);
  segment->names_.store(names);
  io::Disk& disk = segment->files_->disk();
  for (std::string_view suffix : {offset_index_suffix, time_index_suffix, log_suffix}) {
    const std::string path = segment->path(suffix);
    auto file = disk.open(path, io::OpenMode::create_new);
    if (!file && file.error().kind == ErrorKind::already_exists) {
      BARNABAS_TRY(disk.remove(path));
      file = disk.open(path, io::OpenMode::create_new);
    }
    if (!file) return std::unexpected(std::move(file).error());
    if (suffix == log_suffix) segment->files_->pool().put(segment->log_slot_, *std::move(file));
  }
  segment->offset_index_.set_loaded(0, std::nullopt);
  segment->time_index_.set_loaded(0, std::nullopt);
  segment->indexes_synced_ = true;  // there is nothing in them
  return segment;
}

std::string LogSegment::path_with(std::string_view suffix, SegmentNames names) const {
  constexpr std::string_view endings[] = {"", cleaned_suffix, swap_suffix, deleted_suffix};
  std::string path = files_->path(base_offset_, suffix);
  return path.append(endings[static_cast<std::size_t>(names)]);
}

std::string LogSegment::path(std::string_view suffix) const {
  return path_with(suffix, names_.load(std::memory_order_acquire));
}

Result<std::shared_ptr<io::File>> LogSegment::open_file(std::string_view suffix, io::OpenMode mode) {
  std::shared_lock lock(names_mutex_);
  return files_->disk().open(path(suffix), mode);
}

Result<std::shared_ptr<io::File>> LogSegment::file() {
  if (auto open = files_->pool().find_open(log_slot_)) return open;
  std::shared_lock lock(names_mutex_);
  return files_->pool().get(log_slot_, io::OpenMode::read_write, [this] { return path(log_suffix); });
}

Result<std::shared_ptr<io::File>> LogSegment::index_file(bool create) {
  if (auto open = files_->pool().find_open(index_slot_)) return open;
  std::shared_lock lock(names_mutex_);
  return files_->pool().get(index_slot_, create ? io::OpenMode::create : io::OpenMode::read_write,
                            [this] { return path(offset_index_suffix); });
}

Result<std::vector<AbortedTransaction>> LogSegment::aborted_transactions() {
  if (!may_have_aborted()) return std::vector<AbortedTransaction>{};
  std::shared_lock lock(names_mutex_);
  return transaction_index::read(files_->disk(), path(transaction_index_suffix));
}

Result<transaction_index::Found> LogSegment::aborted_transactions(Offset from, Offset upper_bound) {
  Offset newest = newest_aborted_.load(std::memory_order_acquire);
  if (newest == no_offset || newest < from) return transaction_index::Found{};
  auto file = open_file(transaction_index_suffix, io::OpenMode::read);
  if (!file && file.error().kind == ErrorKind::not_found) return transaction_index::Found{};
  if (!file) return std::unexpected(std::move(file).error());
  auto found = transaction_index::find(**file, from, upper_bound);
  if (!found) return fail(path(transaction_index_suffix), std::move(found).error());
  // Unless one was added meanwhile.
  if (newest == unknown_newest && found->newest != no_offset)
    newest_aborted_.compare_exchange_strong(newest, found->newest);
  return found;
}

// --- loading -----------------------------------------------------------------------------------------------

// False: missing or not usable.
Result<bool> LogSegment::load_offset_index() {
  auto file = index_file(false);
  if (!file && file.error().kind == ErrorKind::not_found) return false;
  if (!file) return std::unexpected(std::move(file).error());
  BARNABAS_ASSIGN(const uint64_t bytes, (*file)->size());
  if (bytes % OffsetIndexEntry::size_bytes != 0 || bytes > std::numeric_limits<int32_t>::max()) return false;
  const auto count = static_cast<uint32_t>(bytes / OffsetIndexEntry::size_bytes);
  // Kafka allocates an index at full size and cuts the zeros off when it stops cleanly.
  BARNABAS_ASSIGN(const auto last,
                  find_last_in_file<OffsetIndexEntry>(
                      **file, count, [](const OffsetIndexEntry& entry) { return !entry.is_zero(); }));
  const uint32_t stored = last ? last->second + 1 : 0;
  if (stored < count) BARNABAS_TRY((*file)->truncate(uint64_t{stored} * OffsetIndexEntry::size_bytes));
  if (last && (last->first.relative_offset < 0 || last->first.position < 0 ||
               static_cast<uint64_t>(last->first.position) >= size()))
    return false;
  offset_index_.set_loaded(stored, last ? std::optional(last->first) : std::nullopt);
  return true;
}

Result<bool> LogSegment::load_time_index() {
  auto file = open_file(time_index_suffix, io::OpenMode::read_write);
  if (!file && file.error().kind == ErrorKind::not_found) return false;
  if (!file) return std::unexpected(std::move(file).error());
  BARNABAS_ASSIGN(const uint64_t bytes, (*file)->size());
  if (bytes % TimeIndexEntry::size_bytes != 0 || bytes > std::numeric_limits<int32_t>::max()) return false;
  const auto count = static_cast<uint32_t>(bytes / TimeIndexEntry::size_bytes);
  BARNABAS_ASSIGN(const auto last,
                  find_last_in_file<TimeIndexEntry>(
                      **file, count, [](const TimeIndexEntry& entry) { return !entry.is_zero(); }));
  const uint32_t stored = last ? last->second + 1 : 0;
  if (stored < count) BARNABAS_TRY((*file)->truncate(uint64_t{stored} * TimeIndexEntry::size_bytes));
  if (last && (last->first.relative_offset < 0 || last->first.timestamp < TimestampMs{0})) return false;
  // Complete segments with batches have at least their largest timestamp in here, unless no batch has one.
  time_index_.set_loaded(stored, last ? std::optional(last->first) : std::nullopt);
  if (last) max_timestamp_ = {last->first.timestamp, base_offset_ + last->first.relative_offset};
  return true;
}

// With mutex_ held.
Result<void> LogSegment::load_indexes() {
  if (offset_index_.loaded() && time_index_.loaded()) return {};
  BARNABAS_ASSIGN(const bool offsets_good, load_offset_index());
  BARNABAS_ASSIGN(const bool times_good, load_time_index());
  const bool times_missing = times_good && time_index_.count() == 0 && size() != 0;
  if (!offsets_good || !times_good || times_missing) return rebuild_locked(default_index_interval_bytes);
  return {};
}

// --- looking up --------------------------------------------------------------------------------------------

template <class BelowOrAt>
Result<std::optional<OffsetIndexEntry>> LogSegment::find_index_entry(BelowOrAt&& below_or_at) {
  uint32_t stored = 0;
  std::shared_ptr<io::File> file;
  {
    std::lock_guard lock(mutex_);
    BARNABAS_TRY(load_indexes());
    if (auto entry = offset_index_.find_last_in_tail(below_or_at)) return entry;
    stored = offset_index_.stored();
    if (stored == 0) return std::nullopt;
    BARNABAS_ASSIGN(file, index_file(false));
  }
  auto found = find_last_in_file<OffsetIndexEntry>(*file, stored, below_or_at);
  if (!found && found.error().kind == ErrorKind::corrupt) return std::nullopt;  // being truncated: do without
  if (!found) return std::unexpected(std::move(found).error());
  return *found ? std::optional((*found)->first) : std::nullopt;
}

Result<std::optional<BatchAt>> LogSegment::find_batch(Offset target, uint64_t end) {
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> log, file());
  std::optional<OffsetIndexEntry> entry;
  if (target > base_offset_) {
    BARNABAS_ASSIGN(entry, find_index_entry([&](const OffsetIndexEntry& at) {
                      return base_offset_ + at.relative_offset <= target;
                    }));
  }
  for (bool trust_index : {true, false}) {
    const bool from_entry = trust_index && entry && static_cast<uint64_t>(entry->position) < end;
    HeaderScanner scanner(*log, from_entry ? static_cast<uint64_t>(entry->position) : 0, end);
    bool first = true;
    while (true) {
      auto batch = scanner.next();
      // An index that leads nowhere is one that a power cut has damaged: make it again, and read without it.
      const bool misled =
          first && from_entry &&
          (!batch || !*batch || (*batch)->header.last_offset() != base_offset_ + entry->relative_offset);
      if (misled) {
        BARNABAS_TRY(rebuild_indexes(default_index_interval_bytes));
        break;
      }
      if (!batch) return std::unexpected(std::move(batch).error());
      if (!*batch || (*batch)->header.last_offset() >= target) return *batch;
      first = false;
    }
  }
  return std::nullopt;
}

Result<LogSegment::BatchStart> LogSegment::batch_start_before(uint64_t position) {
  BARNABAS_ASSIGN(const auto entry, find_index_entry([&](const OffsetIndexEntry& at) {
                    return static_cast<uint64_t>(at.position) <= position;
                  }));
  if (!entry) return BatchStart{};
  return BatchStart{static_cast<uint64_t>(entry->position), base_offset_ + entry->relative_offset};
}

Result<Offset> LogSegment::offset_before_timestamp(TimestampMs timestamp) {
  const auto below_or_at = [&](const TimeIndexEntry& entry) { return entry.timestamp <= timestamp; };
  std::lock_guard lock(mutex_);
  BARNABAS_TRY(load_indexes());
  if (auto entry = time_index_.find_last_in_tail(below_or_at)) return base_offset_ + entry->relative_offset;
  if (time_index_.stored() == 0) return base_offset_;
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> times, open_file(time_index_suffix, io::OpenMode::read));
  auto found = find_last_in_file<TimeIndexEntry>(*times, time_index_.stored(), below_or_at);
  if (!found) return std::unexpected(std::move(found).error());
  return *found ? base_offset_ + (*found)->first.relative_offset : base_offset_;
}

Result<LogSegment::MaxTimestamp> LogSegment::max_timestamp() {
  std::lock_guard lock(mutex_);
  if (size() != 0) BARNABAS_TRY(load_indexes());
  return max_timestamp_;
}

Result<TimestampMs> LogSegment::first_timestamp() {
  {
    std::lock_guard lock(mutex_);
    if (first_timestamp_ != no_timestamp || size() == 0) return first_timestamp_;
  }
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> log, file());
  HeaderScanner scanner(*log, 0, size());
  BARNABAS_ASSIGN(const std::optional<BatchAt> batch, scanner.next());
  std::lock_guard lock(mutex_);
  if (batch) first_timestamp_ = batch->header.max_timestamp;
  return first_timestamp_;
}

}  // namespace barnabas::storage
