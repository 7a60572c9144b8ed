#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "storage/in_parallel.h"
#include "storage/log_manager.h"
#include "storage/log_manager_directory.h"
#include "storage/partition_directory.h"

namespace barnabas::storage {
namespace {

constinit Logger log_{"storage"};

Offset value_or_zero(const OffsetCheckpoint& offsets, const TopicPartition& name) {
  const auto found = offsets.find(name);
  return found == offsets.end() ? Offset{0} : found->second;
}

}  // namespace

/// What load is about to do and has done. A directory that fails meanwhile is marked here only; nobody is
/// told before all names in it are known.
struct LogManager::Loading {
  struct Task {
    TopicPartition name;
    Directory* directory;
    std::unique_ptr<Log> log;
    std::string directory_name;
    bool is_future = false;
  };
  std::vector<Task> tasks;
  LoadSummary summary;

  std::mutex mutex;
  std::unordered_map<const Directory*, Error> failures;

  void fail_directory(const Directory& directory, Error error) {
    const std::lock_guard guard(mutex);
    failures.emplace(&directory, std::move(error));
  }
  bool has_failed(const Directory& directory) {
    const std::lock_guard guard(mutex);
    return failures.contains(&directory);
  }
};

Result<LoadSummary> LogManager::load(TimestampMs now) {
  Loading loading;
  for (const auto& directory : directories_) {
    if (!directory->info.usable()) continue;
    read_checkpoints(*directory, loading);
    list_directory(*directory, loading);
  }
  // A log that is recovered waits for the device several times; many at once share its journal's commits.
  constexpr unsigned recovery_threads = 16;
  const bool clean = std::ranges::all_of(
      directories_, [](const auto& directory) { return directory->info.clean || !directory->info.usable(); });
  in_parallel(clean ? options_.load_threads : std::max(options_.load_threads, recovery_threads),
              loading.tasks.size(), [&](std::size_t index) { load_one(loading, index, now); });
  flush_recovered(loading);
  publish(loading);
  BARNABAS_TRY(announce_failures(loading));
  for (const auto& [name, log] : all()) {
    ++loading.summary.logs;
    if (log->recovery().scanned) ++loading.summary.recovered;
  }
  // A checkpoint above the end of a log that was cut would be believed once the log has grown again.
  if (loading.summary.recovered > 0) {
    checkpoint_all(CheckpointFile::recovery_point);
    checkpoint_all(CheckpointFile::cleaner);
  }
  return std::move(loading.summary);
}

void LogManager::read_checkpoints(Directory& directory, Loading& loading) {
  const auto read = [&](std::string_view file, OffsetCheckpoint& into) {
    auto offsets = read_offset_checkpoint(disk_, directory.path_of(std::string(file)));
    if (offsets) {
      into = std::move(*offsets);
    } else if (offsets.error().kind == ErrorKind::io) {
      loading.fail_directory(directory, std::move(offsets).error());
    } else {
      // Without one of these files more is verified than necessary, and that is all.
      log_.warn("checkpoint file left out: {}", offsets.error().message);
    }
  };
  read(recovery_point_offset_checkpoint, directory.recovery_points);
  read(log_start_offset_checkpoint, directory.start_offsets);
  read(replication_offset_checkpoint, directory.high_watermarks);
  read(cleaner_offset_checkpoint, directory.cleaner_offsets);
}

void LogManager::list_directory(Directory& directory, Loading& loading) {
  auto listed = disk_.list(directory.info.path);
  if (!listed) {
    loading.fail_directory(directory, std::move(listed).error());
    return;
  }
  std::ranges::sort(*listed, {}, &io::DirectoryEntry::name);
  for (const io::DirectoryEntry& entry : *listed) {
    if (!entry.is_directory) continue;
    PartitionDirectory parsed = parse_directory_name(entry.name);
    switch (parsed.kind) {
      case DirectoryKind::partition:
      case DirectoryKind::future:
        loading.tasks.push_back(
            {std::move(parsed.name), &directory, nullptr, entry.name, parsed.kind == DirectoryKind::future});
        break;
      case DirectoryKind::deleted:
        deletions_.push_back({directory.path_of(entry.name), Instant::min(), &directory});
        ++loading.summary.deletions;
        break;
      case DirectoryKind::metadata:
        break;
      case DirectoryKind::stray:
      case DirectoryKind::other:
        loading.summary.ignored.push_back(directory.path_of(entry.name));
        break;
    }
  }
}

std::shared_ptr<const LogConfig> LogManager::config_while_loading(const std::string& topic) {
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = configs_.find(topic); found != configs_.end()) return found->second;
  }
  std::shared_ptr<const LogConfig> config;
  if (options_.config_of) config = options_.config_of(topic);
  if (!config) config = std::make_shared<const LogConfig>();
  const std::lock_guard guard(mutex_);
  return configs_.emplace(topic, std::move(config)).first->second;
}

void LogManager::load_one(Loading& loading, std::size_t index, TimestampMs now) {
  Loading::Task& task = loading.tasks[index];
  Directory& directory = *task.directory;
  if (loading.has_failed(directory)) return;
  Log::OpenOptions options;
  options.topic = task.name.topic;
  options.partition = task.name.partition;
  options.config = config_while_loading(task.name.topic);
  options.recovery_point = value_or_zero(directory.recovery_points, task.name);
  options.log_start_offset = value_or_zero(directory.start_offsets, task.name);
  if (const auto cleaned = directory.cleaner_offsets.find(task.name);
      cleaned != directory.cleaner_offsets.end())
    options.cleaned_to = cleaned->second;
  options.candidates = candidates_;
  options.clean = directory.info.clean;
  options.flush_later = true;
  options.now = now;
  options.changes = changes_;
  auto opened = Log::open(disk_, files_, directory.path_of(task.directory_name), std::move(options));
  if (!opened) {
    loading.fail_directory(directory, std::move(opened).error());
    return;
  }
  task.log = std::move(*opened);
  const RecoveryReport& recovery = task.log->recovery();
  if (!recovery.lossless())
    log_.warn("log recovered partition={} {}", task.name.to_string(), recovery.to_string());
  if (recovery.durable_end >= Offset{0})
    log_.error(
        "records lost partition={} directory={} log_end={} expected={} reason=\"the log ends below what had "
        "been made "
        "durable: the device or somebody has lost data\"",
        task.name.to_string(), task.log->directory(), task.log->log_end_offset().value(),
        recovery.durable_end.value());
}

// What a recovery found may be shown to consumers from now on, so it must not be lost to the next power cut.
void LogManager::flush_recovered(Loading& loading) {
  for (const auto& directory : directories_) {
    std::vector<Log*> logs;
    for (const Loading::Task& task : loading.tasks) {
      if (task.directory == directory.get() && task.log && task.log->recovery().scanned &&
          task.log->recovery_point() < task.log->log_end_offset())
        logs.push_back(task.log.get());
    }
    if (logs.empty() || loading.has_failed(*directory)) continue;
    if (const auto flushed = flush_together(*directory, logs); !flushed)
      loading.fail_directory(*directory, flushed.error());
  }
}

Result<void> LogManager::flush_together(const Directory& directory, const std::vector<Log*>& logs) {
  std::mutex mutex;
  Result<void> outcome;
  const bool at_once = logs.size() >= sync_together_from;
  in_parallel(syncing_threads, logs.size(), [&](std::size_t index) {
    Result<void> flushed;
    if (at_once) {
      flushed = logs[index]->prepare_flush();
    } else if (auto alone = logs[index]->flush(); !alone) {
      flushed = std::unexpected(std::move(alone).error());
    }
    // That it is full must not keep what is there from being read.
    if (flushed || flushed.error().kind == ErrorKind::no_space) return;
    const std::lock_guard guard(mutex);
    if (outcome) outcome = std::move(flushed);
  });
  if (!outcome || !at_once) return outcome;
  BARNABAS_TRY(disk_.sync_file_system(directory.info.path));
  for (Log* log : logs) log->complete_flush();
  return {};
}

void LogManager::publish(Loading& loading) {
  std::vector<std::pair<TopicPartition, Entry>> given_up;
  take_in(loading, given_up);
  for (const auto& [name, entry] : given_up) {
    if (!entry.log) continue;
    if (auto path = rename_out(name, entry, &deleted_directory_name))
      delete_later(name, entry, std::move(*path), Instant::min());
  }
}

void LogManager::take_in(Loading& loading, std::vector<std::pair<TopicPartition, Entry>>& given_up) {
  const std::lock_guard guard(mutex_);
  configs_.clear();
  for (Loading::Task& task : loading.tasks) {
    Directory& directory = *task.directory;
    Entry entry{std::move(task.log), &directory};
    ++directory.partitions;
    auto& into = task.is_future ? futures_ : logs_;
    const auto [known, is_new] = into.try_emplace(task.name, entry);
    if (is_new) continue;
    if (!task.is_future) {
      doubles_.emplace_back(task.name, std::move(entry));
      continue;
    }
    // Of two replicas on their way one was given up. The longer one saves work, and nothing depends on it.
    if (entry.log && known->second.log && entry.log->log_end_offset() > known->second.log->log_end_offset())
      std::swap(known->second, entry);
    given_up.push_back({task.name, std::move(entry)});
  }
  for (const auto& directory : directories_) {
    for (const OffsetCheckpoint* file : {&directory->recovery_points, &directory->start_offsets,
                                         &directory->high_watermarks, &directory->cleaner_offsets}) {
      for (const auto& [name, offset] : *file) {
        const auto lies_here = [&](const auto& map) {
          const auto found = map.find(name);
          return found != map.end() && found->second.directory == directory.get();
        };
        if (!lies_here(logs_) && !lies_here(futures_)) directory->note_gone(name);
      }
    }
    directory->recovery_points.clear();
    directory->start_offsets.clear();
    directory->cleaner_offsets.clear();
  }
}

Result<void> LogManager::resolve_doubles(const std::function<Assignment(const TopicPartition&)>& assignment) {
  while (!doubles_.empty()) {
    auto [name, second] = std::move(doubles_.back());
    doubles_.pop_back();
    const auto first = find(name);
    if (!first) {  // lost with its directory, and then this one is all there is
      const std::lock_guard guard(mutex_);
      if (!lost_.contains(name) && second.log) logs_.emplace(name, second);
      continue;
    }
    const Assignment wanted = assignment(name);
    const auto fits = [&](const Entry& entry) {
      const auto id = entry.log->topic_id();
      const int topic = !wanted.topic_id.is_zero() && id && *id == wanted.topic_id ? 2 : 0;
      return topic + (entry.directory->info.directory_id == wanted.directory_id ? 1 : 0);
    };
    if (fits(*first) == fits(second) && !wanted.topic_id.is_zero()) {
      return fail(ErrorKind::invalid, "two logs of " + name.to_string() + ": in " +
                                          first->directory->info.path + " and in " +
                                          second.directory->info.path + ". Move one of them away");
    }
    const Entry& loser = fits(*first) < fits(second) ? *first : second;
    BARNABAS_ASSIGN(const std::string path, rename_out(name, loser, &stray_directory_name));
    log_.warn("log set aside, another one is meant partition={} directory={}", name.to_string(), path);
    {
      const std::lock_guard guard(mutex_);
      if (loser.log == first->log) logs_.insert_or_assign(name, second);
      --loser.directory->partitions;
      loser.directory->note_gone(name);
    }
    BARNABAS_TRY(sync_names(*loser.directory));
  }
  return {};
}

Result<void> LogManager::announce_failures(Loading& loading) {
  for (const auto& directory : directories_) {
    if (!directory->info.usable()) {
      log_.error("log directory offline path={} reason=\"{}\"", directory->info.path,
                 directory->info.failure->message);
      if (options_.on_offline) options_.on_offline(directory->info, {});
    } else if (const auto failure = loading.failures.find(directory.get());
               failure != loading.failures.end()) {
      take_offline(*directory, failure->second);
    }
  }
  std::string reasons;
  for (const auto& directory : directories_) {
    if (directory->info.usable()) return {};
    reasons += (reasons.empty() ? "" : "; ") + directory->info.failure->message;
  }
  return fail(ErrorKind::offline, "no log directory can be used: " + reasons);
}

}  // namespace barnabas::storage
