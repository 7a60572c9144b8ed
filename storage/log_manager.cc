#include "storage/log_manager.h"

#include <algorithm>

#include "base/assert.h"
#include "base/log.h"
#include "storage/log_manager_directory.h"
#include "storage/partition_directory.h"

namespace barnabas::storage {
namespace {

constinit Logger log_{"storage"};

}  // namespace

LogManager::LogManager(io::Disk& disk, FilePool& files, LogDirectories directories, LogManagerOptions options)
    : disk_(disk),
      files_(files),
      options_(std::move(options)),
      cluster_id_(directories.cluster_id),
      previous_broker_epoch_(directories.previous_broker_epoch()) {
  for (LogDirectory& info : directories.directories) {
    directories_.push_back(std::make_unique<Directory>());
    directories_.back()->info = std::move(info);
  }
}

LogManager::~LogManager() = default;

// --- looking -----------------------------------------------------------------------------------------------

Result<LogManager::Entry> LogManager::find(const TopicPartition& name) const {
  const std::lock_guard guard(mutex_);
  if (const auto found = logs_.find(name); found != logs_.end()) return found->second;
  if (const auto lost = lost_.find(name); lost != lost_.end())
    return fail(ErrorKind::offline,
                name.to_string() + ": its directory " + lost->second->info.path + " is offline");
  return fail(ErrorKind::not_found, name.to_string() + ": no such log");
}

Result<std::shared_ptr<Log>> LogManager::get(const TopicPartition& name) const {
  BARNABAS_ASSIGN(Entry entry, find(name));
  return std::move(entry.log);
}

std::vector<std::pair<TopicPartition, LogManager::Entry>> LogManager::entries(const Directory* only) const {
  std::vector<std::pair<TopicPartition, Entry>> result;
  {
    const std::lock_guard guard(mutex_);
    result.reserve(only == nullptr ? logs_.size() : only->partitions);
    for (const auto& [name, entry] : logs_) {
      if (only == nullptr || entry.directory == only) result.emplace_back(name, entry);
    }
  }
  std::ranges::sort(result, {}, &std::pair<TopicPartition, Entry>::first);
  return result;
}

std::vector<std::pair<TopicPartition, LogManager::Entry>> LogManager::other_entries(
    const Directory* only) const {
  std::vector<std::pair<TopicPartition, Entry>> result;
  const std::lock_guard guard(mutex_);
  for (const auto* map : {&futures_, &left_behind_}) {
    for (const auto& [name, entry] : *map) {
      if (only == nullptr || entry.directory == only) result.emplace_back(name, entry);
    }
  }
  return result;
}

std::vector<std::pair<TopicPartition, std::shared_ptr<Log>>> LogManager::all() const {
  std::vector<std::pair<TopicPartition, std::shared_ptr<Log>>> result;
  for (auto& [name, entry] : entries()) result.emplace_back(std::move(name), std::move(entry.log));
  return result;
}

std::vector<LogDirectoryDescription> LogManager::describe() const {
  std::vector<LogDirectoryDescription> result;
  for (const auto& directory : directories_) {
    if (directory->info.metadata_only) continue;
    LogDirectoryDescription description{directory->info.path, directory->info.directory_id, {}, {}, {}};
    {
      const std::lock_guard guard(mutex_);
      description.failure = directory->info.failure;
    }
    if (!description.failure) {
      description.volume = disk_.volume(directory->info.path).value_or(io::VolumeSize{});
      for (const auto& [name, entry] : entries(directory.get()))
        description.partitions.push_back({name, entry.log->size_bytes()});
      describe_futures(*directory, description);
    }
    result.push_back(std::move(description));
  }
  return result;
}

void LogManager::describe_futures(const Directory& directory, LogDirectoryDescription& description) const {
  for (const TopicPartition& name : futures()) {
    const auto on_its_way = future(name);
    if (!on_its_way || on_its_way->directory_id != directory.info.directory_id) continue;
    const auto present = get(name);
    const int64_t lag =
        present ? (*present)->log_end_offset() - on_its_way->log->log_end_offset() : int64_t{0};
    description.partitions.push_back({name, on_its_way->log->size_bytes(), true, std::max<int64_t>(lag, 0)});
  }
  std::ranges::sort(description.partitions, {}, &LogDirectoryDescription::Partition::name);
}

Uuid LogManager::directory_of(const TopicPartition& name) const {
  const std::lock_guard guard(mutex_);
  const auto found = logs_.find(name);
  return found == logs_.end() ? Uuid{} : found->second.directory->info.directory_id;
}

std::string LogManager::path_of(const TopicPartition& name) const {
  const std::lock_guard guard(mutex_);
  const auto found = logs_.find(name);
  return found == logs_.end() ? std::string() : found->second.directory->info.path;
}

std::vector<Uuid> LogManager::usable_directories() const {
  const std::lock_guard guard(mutex_);
  std::vector<Uuid> ids;
  for (const auto& directory : directories_) {
    if (directory->info.usable() && !directory->info.metadata_only)
      ids.push_back(directory->info.directory_id);
  }
  return ids;
}

std::vector<std::string> LogManager::usable_paths() const {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> paths;
  for (const auto& directory : directories_)
    if (directory->info.usable() && !directory->info.metadata_only) paths.push_back(directory->info.path);
  return paths;
}

// --- making ------------------------------------------------------------------------------------------------

Result<std::shared_ptr<Log>> LogManager::create(const TopicPartition& name, const CreateOptions& options,
                                                TimestampMs now) {
  const NameGuard guard(*this, name);
  const auto existing = find(name);
  if (!existing && existing.error().kind == ErrorKind::offline) return std::unexpected(existing.error());
  if (!existing) return open_new(name, options, now);

  if (options.topic_id.is_zero()) return existing->log;
  Log& log = *existing->log;
  const auto topic_id = log.topic_id();
  // A power cut before the first flush spoils the id, and then nothing was promised of this log but that it
  // is there.
  const bool is_unknown = topic_id ? topic_id->is_zero() : topic_id.error().kind != ErrorKind::io;
  Result<void> outcome;
  if (is_unknown) {
    outcome = log.set_topic_id(options.topic_id);
  } else if (!topic_id) {
    outcome = std::unexpected(topic_id.error());
  } else if (*topic_id != options.topic_id) {
    outcome = fail(ErrorKind::already_exists, name.to_string() + ": topic id " + topic_id->to_string() +
                                                  " found, " + options.topic_id.to_string() + " expected");
  }
  if (!check(*existing->directory, outcome)) return std::unexpected(std::move(outcome).error());
  return existing->log;
}

Result<LogManager::Directory*> LogManager::reserve_directory(const TopicPartition& name,
                                                             const CreateOptions& options) {
  const std::lock_guard guard(mutex_);
  Directory* chosen = nullptr;
  for (const auto& directory : directories_) {
    if (!options.directory_id.is_zero() && directory->info.directory_id != options.directory_id) continue;
    if (directory->info.metadata_only) continue;
    if (!directory->info.usable()) {
      if (options.directory_id.is_zero() && options.is_new) continue;
      return fail(ErrorKind::offline, name.to_string() + ": its log may lie in " + directory->info.path +
                                          ", which is offline: " + directory->info.failure->message);
    }
    if (chosen == nullptr || directory->partitions < chosen->partitions) chosen = directory.get();
  }
  if (chosen == nullptr && !options.directory_id.is_zero())
    return fail(ErrorKind::not_found, "no log directory has the id " + options.directory_id.to_string());
  if (chosen == nullptr) return fail(ErrorKind::offline, "every log directory is offline");
  ++chosen->partitions;
  return chosen;
}

Result<std::shared_ptr<Log>> LogManager::open_new(const TopicPartition& name, const CreateOptions& options,
                                                  TimestampMs now) {
  BARNABAS_ASSIGN(Directory* const directory, reserve_directory(name, options));
  if (const auto forgotten = forget_gone(*directory, name); !check(*directory, forgotten)) {
    const std::lock_guard guard(mutex_);
    --directory->partitions;
    return std::unexpected(forgotten.error());
  }
  Log::OpenOptions open_options;
  open_options.topic = name.topic;
  open_options.partition = name.partition;
  open_options.topic_id = options.topic_id;
  open_options.config = options.config;
  open_options.candidates = candidates_;
  open_options.now = now;
  open_options.changes = changes_;
  if (!open_options.config && options_.config_of) open_options.config = options_.config_of(name.topic);
  if (!open_options.config) open_options.config = std::make_shared<const LogConfig>();
  auto opened =
      Log::open(disk_, files_, directory->path_of(partition_directory_name(name)), std::move(open_options));
  if (!opened) {
    check(*directory, std::unexpected(opened.error()));
    const std::lock_guard guard(mutex_);
    --directory->partitions;
    return std::unexpected(std::move(opened).error());
  }
  std::shared_ptr<Log> log = std::move(*opened);
  const std::lock_guard guard(mutex_);
  if (!directory->info.usable()) {
    --directory->partitions;
    return fail(ErrorKind::offline,
                directory->info.path + " went offline: " + directory->info.failure->message);
  }
  logs_.insert_or_assign(name, Entry{log, directory});
  changes_->note();
  return log;
}

// --- taking out --------------------------------------------------------------------------------------------

Result<std::string> LogManager::rename_out(const TopicPartition& name, const Entry& entry, NewName new_name) {
  std::string path = entry.directory->path_of(new_name(name, Uuid::random()));
  const Result<void> moved = entry.log->rename_directory(path);
  if (!check(*entry.directory, moved)) return std::unexpected(moved.error());
  return path;
}

LogManager::TakenOut LogManager::take_out(const TopicPartition& name, NewName new_name) {
  const NameGuard guard(*this, name);
  TakenOut taken;
  std::vector<Entry> found;
  if (auto entry = find(name)) {
    taken.delete_delay = std::chrono::milliseconds(entry->log->config()->file_delete_delay_ms);
    found.push_back(std::move(*entry));
  } else {
    taken.error = entry.error();
  }
  {
    const std::lock_guard lock(mutex_);
    // What is deleted while its directory is offline may come back, and is another log than what gets the
    // name now.
    lost_.erase(name);
    for (const auto* map : {&left_behind_, &futures_})
      if (const auto other = map->find(name); other != map->end()) found.push_back(other->second);
  }
  for (const Entry& entry : found) {
    auto path = rename_out(name, entry, new_name);
    if (!path) {
      if (!taken.error) taken.error = path.error();
      continue;
    }
    taken.directories.emplace_back(entry.directory, std::move(*path));
    const std::lock_guard lock(mutex_);
    Directory& directory = *entry.directory;
    for (auto* map : {&logs_, &left_behind_, &futures_}) {
      const auto at = map->find(name);
      if (at == map->end() || at->second.log != entry.log) continue;
      map->erase(at);
      if (map != &left_behind_) --directory.partitions;
      if (map == &logs_) candidates_->set(name, false);
    }
    directory.high_watermarks.erase(name);
    directory.note_gone(name);
    changes_->note();
  }
  return taken;
}

Result<void> LogManager::sync_names(Directory& directory) {
  const Result<void> synced = disk_.sync_directory(directory.info.path);
  check(directory, synced);
  return synced;
}

Result<void> LogManager::remove(const TopicPartition& name, Instant now) {
  return remove(std::span(&name, 1), now);
}

Result<void> LogManager::remove(std::span<const TopicPartition> names, Instant now) {
  Result<void> outcome;
  std::unordered_set<Directory*> touched;
  for (const TopicPartition& name : names) {
    TakenOut taken = take_out(name, &deleted_directory_name);
    if (taken.error && outcome) outcome = std::unexpected(*taken.error);
    const std::lock_guard guard(mutex_);
    for (auto& [directory, path] : taken.directories) {
      touched.insert(directory);
      deletions_.push_back({std::move(path), now + taken.delete_delay, directory});
    }
  }
  for (Directory* directory : touched) {
    const auto synced = sync_names(*directory);
    if (outcome) outcome = synced;
  }
  return outcome;
}

Result<void> LogManager::set_aside(const TopicPartition& name) {
  const TakenOut taken = take_out(name, &stray_directory_name);
  for (const auto& [directory, path] : taken.directories) {
    log_.warn("log set aside partition={} directory={}", name.to_string(), path);
    BARNABAS_TRY(sync_names(*directory));
  }
  if (taken.error) return std::unexpected(*taken.error);
  return {};
}

// --- the offline rule --------------------------------------------------------------------------------------

void LogManager::report(const TopicPartition& name, const Error& error) {
  if (error.kind != ErrorKind::io) return;
  if (const auto entry = find(name)) take_offline(*entry->directory, error);
}

void LogManager::report_directory(const std::string& path, const Error& error) {
  if (error.kind != ErrorKind::io) return;
  for (const auto& directory : directories_) {
    if (directory->info.path == path) take_offline(*directory, error);
  }
}

bool LogManager::check(Directory& directory, const Result<void>& result) {
  if (!result && result.error().kind == ErrorKind::io) take_offline(directory, result.error());
  return result.has_value();
}

void LogManager::take_offline(Directory& directory, const Error& error) {
  std::vector<TopicPartition> names;
  std::vector<std::shared_ptr<Log>> logs;  // may be destroyed, and so must outlive the lock
  {
    const std::lock_guard guard(mutex_);
    if (!directory.info.usable()) return;
    directory.info.failure = error;
    for (auto at = logs_.begin(); at != logs_.end();) {
      if (at->second.directory != &directory) {
        ++at;
        continue;
      }
      names.push_back(at->first);
      candidates_->set(at->first, false);
      lost_.emplace(at->first, &directory);
      logs.push_back(std::move(at->second.log));
      at = logs_.erase(at);
    }
    directory.partitions -= names.size();
    for (auto* map : {&futures_, &left_behind_}) {
      for (auto at = map->begin(); at != map->end();) {
        if (at->second.directory != &directory) {
          ++at;
          continue;
        }
        logs.push_back(std::move(at->second.log));
        at = map->erase(at);
        if (map == &futures_) --directory.partitions;
      }
    }
    std::erase_if(deletions_, [&](const Deletion& deletion) { return deletion.directory == &directory; });
  }
  std::ranges::sort(names);
  log_.error("log directory offline path={} partitions={} reason=\"{}\"", directory.info.path, names.size(),
             error.message);
  if (options_.on_offline) options_.on_offline(directory.info, names);
}

}  // namespace barnabas::storage
