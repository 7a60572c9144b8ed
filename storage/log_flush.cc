#include <boost/container/small_vector.hpp>

#include "storage/log_state.h"

namespace barnabas::storage {
namespace {

/// What a flush has to sync, as it was at one moment.
struct Unsynced {
  Offset end;
  uint64_t end_position = 0;
  uint64_t generation = 0;
  boost::container::small_vector<std::shared_ptr<LogSegment>, 2>
      segments;  ///< the last one is the active one
  bool directory = false;
  bool parent = false;
  std::vector<std::string> files;
  std::optional<std::string> epochs;

  bool nothing(Offset recovery_point) const {
    return end == recovery_point && !directory && !parent && files.empty() && !epochs;
  }
};

Unsynced take_unsynced(LogState& log) {
  std::lock_guard lock(log.mutex);
  Unsynced unsynced;
  unsynced.end = log.log_end.load();
  unsynced.generation = log.generation;
  unsynced.directory = std::exchange(log.directory_dirty, false);
  unsynced.parent = std::exchange(log.parent_dirty, false);
  unsynced.files = std::exchange(log.unsynced_files, {});
  if (std::exchange(log.metadata_dirty, false))
    unsynced.files.push_back(log.files->path(partition_metadata_name));
  if (std::exchange(log.epochs_dirty, false)) unsynced.epochs = log.epochs.format();
  std::size_t first = log.segment_index(log.recovery_point.load());
  // A segment that was rolled after its last batch was synced has indexes that were not.
  while (first > 0 && !log.segments[first - 1]->fully_synced()) --first;
  unsynced.segments.assign(log.segments.begin() + static_cast<std::ptrdiff_t>(first), log.segments.end());
  unsynced.end_position = unsynced.segments.back()->size();
  log.first_unflushed_ms.store(-1);
  return unsynced;
}

Result<void> sync(LogState& log, const Unsynced& unsynced) {
  for (const auto& segment : unsynced.segments)
    BARNABAS_TRY(segment->sync(/*with_indexes=*/segment != unsynced.segments.back()));
  for (const std::string& path : unsynced.files) {
    auto file = log.disk().open(path, io::OpenMode::read_write);
    if (!file && file.error().kind == ErrorKind::not_found) continue;
    if (!file) return std::unexpected(std::move(file).error());
    BARNABAS_TRY((*file)->sync_data());
  }
  if (!unsynced.directory && !unsynced.parent) return {};
  const std::string directory = log.files->directory();
  // The names of new files come before anything in them counts as durable.
  if (unsynced.directory) BARNABAS_TRY(log.disk().sync_directory(directory));
  if (unsynced.parent) {
    const std::size_t slash = directory.rfind('/');
    BARNABAS_TRY(log.disk().sync_directory(slash == std::string::npos ? "." : directory.substr(0, slash)));
  }
  return {};
}

Result<Offset> flush(LogState& log) {  // with flush_mutex held
  BARNABAS_TRY(log.check_writable());
  const Unsynced unsynced = take_unsynced(log);
  if (unsynced.nothing(log.recovery_point.load())) return unsynced.end;
  if (auto synced = sync(log, unsynced); !synced) return log.broken_by(std::move(synced).error());
  if (unsynced.epochs) {
    auto written =
        io::replace_file(log.disk(), log.files->path(leader_epoch_checkpoint_name), *unsynced.epochs);
    // No room for a new file: the old one is as it was, and nothing of the log is in doubt.
    if (!written && written.error().kind == ErrorKind::no_space) {
      std::lock_guard lock(log.mutex);
      log.epochs_dirty = true;
      return std::unexpected(std::move(written).error());
    }
    if (!written) return log.broken_by(std::move(written).error());
  }
  std::lock_guard lock(log.mutex);
  log.recovery_point.store(unsynced.end, std::memory_order_release);
  log.note_change();
  if (log.generation == unsynced.generation)
    log.known_positions.add(unsynced.end, unsynced.segments.back()->base_offset(), unsynced.end_position);
  return unsynced.end;
}

}  // namespace

Result<Offset> Log::flush() {
  std::lock_guard lock(state_->flush_mutex);
  return storage::flush(*state_);
}

bool Log::flush_due(TimestampMs now) const {
  const LogState& log = *state_;
  const int64_t unflushed = log.log_end.load() - log.recovery_point.load();
  if (unflushed <= 0) return false;
  const auto config = this->config();
  const int64_t since = log.first_unflushed_ms.load();
  return unflushed >= config->flush_messages || (since >= 0 && now.value() - since >= config->flush_ms);
}

namespace {

// As io::replace_file, but for the syncs. Should the power go before somebody else syncs, the file is of no
// use and recovery makes it again.
Result<void> replace_file_unsynced(io::Disk& disk, const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp";
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, disk.open(temporary, io::OpenMode::create));
  BARNABAS_TRY(file->truncate(0));
  BARNABAS_TRY(file->write_at(as_byte_view(content), 0));
  return disk.rename(temporary, path);
}

Result<void> prepare_flush(LogState& log) {  // with flush_mutex held
  BARNABAS_TRY(log.check_writable());
  const Unsynced unsynced = take_unsynced(log);
  if (!unsynced.epochs) return {};
  auto written =
      replace_file_unsynced(log.disk(), log.files->path(leader_epoch_checkpoint_name), *unsynced.epochs);
  if (written) return {};
  std::lock_guard lock(log.mutex);
  log.epochs_dirty = true;
  return written;
}

void complete_flush(LogState& log) {  // with flush_mutex held
  std::lock_guard lock(log.mutex);
  for (const auto& segment : log.segments) segment->assume_synced();
  log.recovery_point.store(log.log_end.load(), std::memory_order_release);
}

// Nothing of a log that never had a record is worth a sync: what a power cut spoils is made again. With
// thousands of such partitions the broker stops in no time.
bool is_worth_syncing(LogState& log) {
  return log.log_end.load() > Offset{0} || log.active().size() > 0;
}

Result<void> write_for_close(LogState& log) {  // with flush_mutex and append_mutex held
  BARNABAS_TRY(log.check_writable());
  BARNABAS_TRY(log.active().finish_indexes());
  BARNABAS_TRY(log.load_producers());
  return log.write_snapshot(log.log_end.load());
}

void close(LogState& log) {
  log.closed.store(true);
  std::lock_guard state_lock(log.mutex);
  for (const auto& segment : log.segments) segment->release_files();
}

}  // namespace

Result<void> Log::prepare_flush() {
  std::lock_guard lock(state_->flush_mutex);
  return storage::prepare_flush(*state_);
}

void Log::complete_flush() {
  std::lock_guard lock(state_->flush_mutex);
  storage::complete_flush(*state_);
}

bool Log::needs_flush() const {
  const LogState& log = *state_;
  std::lock_guard lock(log.mutex);
  return log.log_end.load() > Offset{0} &&
         (log.changed_since_open || log.recovery_point.load() < log.log_end.load());
}

Result<void> Log::close_clean() {
  LogState& log = *state_;
  std::lock_guard flush_lock(log.flush_mutex);
  if (log.closed.load()) return {};
  std::lock_guard lock(log.append_mutex);
  const bool worth_syncing = is_worth_syncing(log);
  const bool changed = log.changed_since_open && worth_syncing;
  if (changed) BARNABAS_TRY(write_for_close(log));
  if (worth_syncing) BARNABAS_TRY(storage::flush(log));
  if (changed) {
    if (auto synced = log.active().sync(/*with_indexes=*/true); !synced)
      return log.broken_by(std::move(synced).error());
  }
  close(log);
  return {};
}

Result<void> Log::prepare_close() {
  LogState& log = *state_;
  std::lock_guard flush_lock(log.flush_mutex);
  if (log.closed.load() || !is_worth_syncing(log)) return {};
  std::lock_guard lock(log.append_mutex);
  if (log.changed_since_open) BARNABAS_TRY(write_for_close(log));
  return storage::prepare_flush(log);
}

void Log::complete_close() {
  LogState& log = *state_;
  std::lock_guard flush_lock(log.flush_mutex);
  if (log.closed.load()) return;
  std::lock_guard lock(log.append_mutex);
  if (is_worth_syncing(log)) storage::complete_flush(log);
  close(log);
}

}  // namespace barnabas::storage
