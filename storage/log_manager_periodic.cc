#include <algorithm>
#include <iterator>
#include <map>

#include "base/log.h"
#include "storage/clean_shutdown.h"
#include "storage/in_parallel.h"
#include "storage/log_manager.h"
#include "storage/log_manager_directory.h"

namespace barnabas::storage {
namespace {

constinit Logger log_{"storage"};

// Closing waits for the device most of the time, and file systems write what several threads sync in one go.
constexpr unsigned closing_threads = 8;

}  // namespace

// --- the timer ---------------------------------------------------------------------------------------------

Instant LogManager::tick(Instant now, TimestampMs wall) {
  if (schedule_.empty()) {
    schedule_.add(PeriodicJob::flush, options_.flush_interval, now);
    schedule_.add(PeriodicJob::retention, options_.retention_interval, now);
    schedule_.add(PeriodicJob::recovery_point_checkpoint, options_.checkpoint_interval, now);
    schedule_.add(PeriodicJob::start_offset_checkpoint, options_.start_checkpoint_interval, now);
    schedule_.add(PeriodicJob::high_watermark_checkpoint, options_.high_watermark_interval, now);
    schedule_.add(PeriodicJob::producer_expiry, options_.producer_expiry_interval, now);
  }
  for (const PeriodicJob job : schedule_.take_due(now)) {
    switch (job) {
      case PeriodicJob::flush:
        flush_due_logs(wall);
        break;
      case PeriodicJob::retention:
        clean_up(now, wall);
        break;
      case PeriodicJob::recovery_point_checkpoint:
        checkpoint_changes(CheckpointFile::recovery_point);
        break;
      case PeriodicJob::start_offset_checkpoint:
        checkpoint_changes(CheckpointFile::log_start);
        break;
      case PeriodicJob::high_watermark_checkpoint:
        checkpoint_changes(CheckpointFile::high_watermark);
        break;
      case PeriodicJob::producer_expiry:
        expire_producers(wall);
        break;
    }
  }
  remove_due(now);
  Instant next = schedule_.next();
  const std::lock_guard guard(mutex_);
  for (const Deletion& deletion : deletions_) next = std::min(next, deletion.due);
  return next;
}

void LogManager::flush_due_logs(TimestampMs wall) {
  for (const auto& [name, entry] : entries()) {
    if (!entry.log->flush_due(wall)) continue;
    if (const auto flushed = entry.log->flush(); !flushed)
      check(*entry.directory, std::unexpected(flushed.error()));
  }
}

void LogManager::clean_up(Instant now, TimestampMs wall) {
  const HighWatermarkSource source = high_watermark_source();
  for (const auto& [name, entry] : entries()) {
    if (const auto rolled = entry.log->roll_if_due(wall); !rolled) {
      check(*entry.directory, std::unexpected(rolled.error()));
      continue;
    }
    const auto result = entry.log->apply_retention(wall, high_watermark_of(source, name, entry));
    if (!result && result.error().kind == ErrorKind::closed) continue;  // has left for another directory
    if (!result) {
      check(*entry.directory, std::unexpected(result.error()));
      log_.warn("retention failed partition={} reason=\"{}\"", name.to_string(), result.error().message);
    } else if (result->segments_deleted > 0) {
      log_.info("segments deleted partition={} count={} bytes={} reason=\"{}\"", name.to_string(),
                result->segments_deleted, result->bytes_deleted, result->reason);
    }
    schedule_deletions(entry, now);
  }
}

void LogManager::schedule_deletions(const Entry& entry, Instant now) {
  std::vector<std::string> files = entry.log->take_deleted_files();
  if (files.empty()) return;
  const Instant due = now + std::chrono::milliseconds(entry.log->config()->file_delete_delay_ms);
  const std::lock_guard guard(mutex_);
  for (std::string& file : files) deletions_.push_back({std::move(file), due, entry.directory});
}

// --- for the cleaner ---------------------------------------------------------------------------------------

Result<LogManager::Compactable> LogManager::compactable(const TopicPartition& name) const {
  BARNABAS_ASSIGN(Entry entry, find(name));
  const Offset high_watermark = high_watermark_of(high_watermark_source(), name, entry);
  return Compactable{std::move(entry.log), high_watermark};
}

Result<void> LogManager::checkpoint_recovery_point(const TopicPartition& name) {
  BARNABAS_ASSIGN(const Entry entry, find(name));
  return checkpoint(*entry.directory, CheckpointFile::recovery_point);
}

void LogManager::note_compacted(const TopicPartition& name, Instant now) {
  const auto entry = find(name);
  if (!entry) return;
  schedule_deletions(*entry, now);
  if (const auto written = checkpoint(*entry->directory, CheckpointFile::cleaner);
      !check(*entry->directory, written))
    log_.warn("checkpoint not written: {}", written.error().message);
}

void LogManager::remove_due(Instant now) {
  std::vector<Deletion> due;
  {
    const std::lock_guard guard(mutex_);
    const auto later = std::ranges::partition(deletions_, [&](const Deletion& one) { return one.due > now; });
    due.assign(std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()));
    deletions_.erase(later.begin(), later.end());
  }
  for (const Deletion& deletion : due) {
    const auto removed = disk_.remove_tree(deletion.path);
    if (!check(*deletion.directory, removed)) log_.warn("not removed: {}", removed.error().message);
  }
}

void LogManager::expire_producers(TimestampMs wall) {
  for (const auto& [name, entry] : entries()) entry.log->expire_producers(wall);
}

// --- checkpoints -------------------------------------------------------------------------------------------

Offset LogManager::checkpointed_high_watermark(const TopicPartition& name) const {
  const std::lock_guard guard(mutex_);
  for (const auto& directory : directories_) {
    const auto found = directory->high_watermarks.find(name);
    if (found != directory->high_watermarks.end()) return found->second;
  }
  return Offset{0};
}

void LogManager::set_high_watermark_source(
    std::function<std::optional<Offset>(const TopicPartition&)> source) {
  const std::lock_guard guard(mutex_);
  high_watermarks_ = std::move(source);
}

LogManager::HighWatermarkSource LogManager::high_watermark_source() const {
  const std::lock_guard guard(mutex_);
  return high_watermarks_;
}

Offset LogManager::high_watermark_of(const HighWatermarkSource& source, const TopicPartition& name,
                                     const Entry& entry) const {
  if (source) {
    if (const auto offset = source(name)) return *offset;
  }
  const std::lock_guard guard(mutex_);
  const auto found = entry.directory->high_watermarks.find(name);
  return found == entry.directory->high_watermarks.end() ? Offset{0} : found->second;
}

OffsetCheckpoint LogManager::collect(const Directory& directory, CheckpointFile file) const {
  const HighWatermarkSource source = high_watermark_source();
  OffsetCheckpoint offsets;
  const auto add = [&](const TopicPartition& name, Offset offset) {
    offsets.emplace_hint(offsets.end(), name, offset);
  };
  auto listed = entries(&directory);
  std::unordered_set<const Log*> others;
  for (auto& other : other_entries(&directory)) {
    others.insert(other.second.log.get());
    listed.push_back(std::move(other));
  }
  std::ranges::sort(listed, {}, &std::pair<TopicPartition, Entry>::first);
  for (const auto& [name, entry] : listed) {
    switch (file) {
      case CheckpointFile::recovery_point:
        add(name, entry.log->recovery_point());
        break;
      case CheckpointFile::log_start:
        if (entry.log->log_start_offset() > Offset{0}) add(name, entry.log->log_start_offset());
        break;
      case CheckpointFile::high_watermark:
        // A future replica has not got up to it yet.
        add(name, others.contains(entry.log.get())
                      ? std::min(high_watermark_of(source, name, entry), entry.log->log_end_offset())
                      : high_watermark_of(source, name, entry));
        break;
      case CheckpointFile::cleaner:
        if (const auto cleaned_to = entry.log->cleaned_to()) add(name, *cleaned_to);
        break;
    }
  }
  return offsets;
}

// With checkpoint_mutex held.
Result<void> LogManager::write_checkpoint(Directory& directory, CheckpointFile file,
                                          const OffsetCheckpoint& offsets) {
  constexpr std::array names{recovery_point_offset_checkpoint, log_start_offset_checkpoint,
                             replication_offset_checkpoint, cleaner_offset_checkpoint};
  const auto index = static_cast<std::size_t>(file);
  std::string content = format_offset_checkpoint(offsets);
  if (directory.written[index] == content) return {};
  directory.written[index].reset();
  Result<void> written = io::replace_file(disk_, directory.path_of(std::string(names[index])), content);
  if (!written) {
    // What is not there is the log directory itself: somebody removed or unmounted it.
    if (written.error().kind == ErrorKind::not_found) written.error().kind = ErrorKind::io;
    return written;
  }
  directory.written[index] = std::move(content);
  return {};
}

Result<void> LogManager::checkpoint(Directory& directory, CheckpointFile file) {
  const auto index = static_cast<std::size_t>(file);
  const std::lock_guard guard(directory.checkpoint_mutex);
  uint64_t gone_generation = 0;
  {
    const std::lock_guard lock(mutex_);
    gone_generation = directory.gone_generation;
  }
  OffsetCheckpoint offsets = collect(directory, file);
  BARNABAS_TRY(write_checkpoint(directory, file, offsets));
  if (file == CheckpointFile::log_start) directory.log_starts = std::move(offsets);
  const std::lock_guard lock(mutex_);
  for (auto& [name, gone] : directory.gone) {
    if (gone.generation <= gone_generation) gone.files &= ~(1U << index);
  }
  std::erase_if(directory.gone, [](const auto& entry) { return entry.second.files == 0; });
  return {};
}

Result<void> LogManager::forget_gone(Directory& directory, const TopicPartition& name) {
  {
    const std::lock_guard guard(mutex_);
    if (!directory.gone.contains(name)) return {};
  }
  return checkpoint_directory(directory);
}

Result<void> LogManager::checkpoint_directory(Directory& directory) {
  for (const CheckpointFile file : {CheckpointFile::recovery_point, CheckpointFile::log_start,
                                    CheckpointFile::high_watermark, CheckpointFile::cleaner}) {
    BARNABAS_TRY(checkpoint(directory, file));
  }
  return {};
}

void LogManager::checkpoint_all(CheckpointFile file) {
  for (const auto& directory : directories_) {
    {
      const std::lock_guard guard(mutex_);
      if (!directory->info.usable()) continue;
    }
    if (const auto written = checkpoint(*directory, file); !check(*directory, written)) {
      log_.warn("checkpoint not written: {}", written.error().message);
      changes_->note();  // the next round tries again
    }
  }
}

void LogManager::checkpoint_changes(CheckpointFile file) {
  if (changes_->take(static_cast<unsigned>(file))) checkpoint_all(file);
}

void LogManager::checkpoint_log_starts(std::span<const TopicPartition> names) {
  std::map<Directory*, std::vector<std::pair<TopicPartition, Entry>>> by_directory;
  for (const TopicPartition& name : names)
    if (auto entry = find(name)) by_directory[entry->directory].emplace_back(name, std::move(*entry));
  for (const auto& [directory, logs] : by_directory) {
    if (const auto written = checkpoint_log_starts(*directory, logs); !check(*directory, written))
      log_.warn("checkpoint not written: {}", written.error().message);
  }
}

Result<void> LogManager::checkpoint_log_starts(Directory& directory,
                                               std::span<const std::pair<TopicPartition, Entry>> logs) {
  {
    const std::lock_guard guard(directory.checkpoint_mutex);
    if (directory.written[static_cast<std::size_t>(CheckpointFile::log_start)]) {
      for (const auto& [name, entry] : logs)
        if (const Offset start = entry.log->log_start_offset(); start > Offset{0})
          directory.log_starts[name] = start;
      return write_checkpoint(directory, CheckpointFile::log_start, directory.log_starts);
    }
  }
  return checkpoint(directory, CheckpointFile::log_start);
}

void LogManager::write_checkpoints() {
  checkpoint_all(CheckpointFile::recovery_point);
  checkpoint_all(CheckpointFile::log_start);
  checkpoint_all(CheckpointFile::high_watermark);
  checkpoint_all(CheckpointFile::cleaner);
}

// --- the end -----------------------------------------------------------------------------------------------

Result<void> LogManager::shut_down(BrokerEpoch broker_epoch) {
  std::optional<Error> first;
  std::unordered_set<const Directory*> unclean;
  std::mutex errors;
  const auto failed = [&](const TopicPartition& name, const Entry& entry, const Error& error) {
    check(*entry.directory, std::unexpected(error));
    log_.error("log not closed partition={} reason=\"{}\"", name.to_string(), error.message);
    const std::lock_guard guard(errors);
    unclean.insert(entry.directory);
    if (!first) first = error;
  };
  for (const TopicPartition& name : unfinished_switches()) {
    if (const auto finished = finish_switch(name, Instant::min()); !finished)
      log_.warn("left for the next start: {}", finished.error().message);
  }
  auto all_entries = entries();
  for (auto& other : other_entries()) all_entries.push_back(std::move(other));
  std::unordered_map<const Directory*, std::size_t> dirty;
  for (const auto& [name, entry] : all_entries) dirty[entry.directory] += entry.log->needs_flush() ? 1 : 0;
  const auto together = [&](const Entry& entry) { return dirty[entry.directory] >= sync_together_from; };
  in_parallel(std::max(options_.load_threads, closing_threads), all_entries.size(), [&](std::size_t index) {
    const auto& [name, entry] = all_entries[index];
    const Result<void> closed = together(entry) ? entry.log->prepare_close() : entry.log->close_clean();
    if (!closed) failed(name, entry, closed.error());
  });
  for (const auto& directory : directories_) {
    if (dirty[directory.get()] < sync_together_from || unclean.contains(directory.get())) continue;
    const auto synced = disk_.sync_file_system(directory->info.path);
    for (const auto& [name, entry] : all_entries) {
      if (entry.directory != directory.get()) continue;
      if (synced) {
        entry.log->complete_close();
      } else if (!unclean.contains(directory.get())) {
        failed(name, entry, synced.error());
      }
    }
  }
  for (const auto& directory : directories_) {
    {
      const std::lock_guard guard(mutex_);
      if (!directory->info.usable()) continue;
    }
    if (!unclean.contains(directory.get()) && !has_left_behind(*directory)) {
      if (const auto finished = finish(*directory, broker_epoch); !check(*directory, finished)) {
        log_.error("log directory not marked clean path={} reason=\"{}\"", directory->info.path,
                   finished.error().message);
        if (!first) first = finished.error();
      }
    }
    directory->info.lock.reset();
  }
  if (first) return std::unexpected(std::move(*first));
  return {};
}

Result<void> LogManager::finish(Directory& directory, BrokerEpoch broker_epoch) {
  BARNABAS_TRY(checkpoint_directory(directory));
  return write_clean_shutdown(disk_, directory.info.path, broker_epoch);
}

}  // namespace barnabas::storage
