// How a log becomes the replica of another one that lies in another directory (KIP-113).

#include <algorithm>

#include "base/assert.h"
#include "storage/log_state.h"

namespace barnabas::storage {
namespace {

// Whether the target holds only what the source holds too; if not, where they part. The newest epoch that
// both know tells, as between a leader and its follower.
Offset common_end(Log& source, Log& target) {
  const Offset end = std::min(source.log_end_offset(), target.log_end_offset());
  const EpochEnd ours = source.end_offset_for_epoch(target.latest_epoch());
  if (ours.end_offset == no_offset) return end;
  return std::min(end, std::max(ours.end_offset, target.log_start_offset()));
}

// Compaction may leave nothing up to the log end.
Result<void> skip_to(LogState& log, Offset offset, TimestampMs now) {
  std::lock_guard lock(log.append_mutex);
  BARNABAS_TRY(log.check_writable());
  if (offset <= log.log_end.load()) return {};
  BARNABAS_TRY(log.active().prepare_append());
  BARNABAS_TRY(log.roll(offset, now));
  std::lock_guard state_lock(log.mutex);
  log.log_end.store(offset, std::memory_order_release);
  return {};
}

Result<std::vector<std::byte>> read_slice(const io::FileSlice& slice) {
  std::vector<std::byte> bytes(slice.length);
  BARNABAS_ASSIGN(const std::size_t count, slice.file->read_at(bytes, slice.position));
  if (count < bytes.size())
    return fail(ErrorKind::corrupt, slice.file->path() + ": ends at byte " +
                                        std::to_string(slice.position + count) + ", " +
                                        std::to_string(slice.position + slice.length) + " expected");
  return bytes;
}

}  // namespace

Result<uint64_t> Log::follow(Log& source, uint64_t bytes_max, TimestampMs now) {
  const Offset source_start = source.log_start_offset();
  if (log_end_offset() < source_start) BARNABAS_TRY(truncate_fully_and_start_at(source_start));
  if (source_start > log_start_offset()) BARNABAS_TRY(delete_records_before(source_start));
  if (const Offset common = common_end(source, *this); common < log_end_offset())
    BARNABAS_TRY(truncate_to(common));
  const Offset from = log_end_offset();
  const Offset end = source.log_end_offset();
  if (from >= end) return 0;
  // More than a segment may hold would be refused in one append.
  const auto room = static_cast<uint64_t>(std::max(config()->segment_bytes, 1));
  auto found = source.read(from, std::min(bytes_max, room), end, /*at_least_one_batch=*/true);
  // The source's start has moved meanwhile: the next call sees it.
  if (!found && found.error().kind == ErrorKind::out_of_range) return 1;
  if (!found) return std::unexpected(std::move(found).error());
  if (found->slice.length == 0) {
    BARNABAS_TRY(skip_to(*state_, end, now));
    return 1;
  }
  BARNABAS_ASSIGN(const std::vector<std::byte> bytes, read_slice(found->slice));
  BARNABAS_ASSIGN(const auto first, protocol::RecordBatchHeader::parse(bytes));
  // Records were deleted up to the middle of a batch: the batch comes as a whole, and the start with the next
  // call.
  if (first.base_offset < from && size_bytes() == 0)
    BARNABAS_TRY(truncate_fully_and_start_at(first.base_offset));
  BARNABAS_TRY(append_as_follower(bytes, now));
  // Nobody reads here; what is decided is forgotten all the same.
  last_stable_offset(log_end_offset());
  return bytes.size();
}

Result<void> Log::take_over(Log& source, TimestampMs now, const std::function<bool()>& switched) {
  constexpr uint64_t piece_bytes = 1 << 20;
  LogState& from = *source.state_;
  LogState& to = *state_;
  BARNABAS_ASSERT(&from != &to);
  std::lock_guard source_lock(from.append_mutex);
  BARNABAS_TRY(from.check_writable());
  while (true) {
    BARNABAS_ASSIGN(const uint64_t bytes, follow(source, piece_bytes, now));
    if (bytes == 0) break;
  }
  std::lock_guard lock(to.append_mutex);
  BARNABAS_TRY(to.check_writable());
  BARNABAS_TRY(from.load_producers());
  BARNABAS_TRY(to.load_producers());
  // From here on all producers are those of the source. The snapshot tells of those that no batch tells of
  // any more.
  std::swap(from.producers, to.producers);
  to.truncate_snapshots(to.log_end.load() - 1);
  if (auto written = to.write_snapshot(to.log_end.load()); !written) {
    std::swap(from.producers, to.producers);
    return written;
  }
  to.note_undecided();
  to.changed_since_open = true;
  {
    std::scoped_lock state_locks(from.mutex, to.mutex);
    from.load_epochs();
    to.load_epochs();
    to.epochs = from.epochs;
    to.epochs_dirty = true;
    to.latest_epoch.store(from.latest_epoch.load());
    to.config = from.config;
  }
  if (!switched()) {
    std::swap(from.producers, to.producers);
    return fail(ErrorKind::offline,
                from.files->directory() + " or " + to.files->directory() + " is no longer here");
  }
  from.closed.store(true, std::memory_order_release);
  return {};
}

Result<void> Log::move_directory(const std::string& directory) {
  LogState& log = *state_;
  std::lock_guard flush_lock(log.flush_mutex);
  std::lock_guard lock(log.append_mutex);
  BARNABAS_TRY(log.files->rename_directory(directory));
  std::lock_guard state_lock(log.mutex);
  // Files that were noted to be synced are in the directory under its new name.
  for (auto* paths : {&log.unsynced_files, &log.deleted_files}) {
    for (std::string& path : *paths) path = directory + path.substr(path.rfind('/'));
  }
  return {};
}

}  // namespace barnabas::storage
