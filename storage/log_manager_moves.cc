// Replicas on their way from one directory of the node to another (KIP-113).

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "storage/log_manager.h"
#include "storage/log_manager_directory.h"
#include "storage/partition_directory.h"

namespace barnabas::storage {
namespace {

constinit Logger log_{"storage"};

bool is_named_plainly(const Log& log, const TopicPartition& name) {
  const std::string directory = log.directory();
  return directory.substr(directory.rfind('/') + 1) == partition_directory_name(name);
}

}  // namespace

// --- looking -----------------------------------------------------------------------------------------------

std::optional<LogManager::Future> LogManager::future(const TopicPartition& name) const {
  const std::lock_guard guard(mutex_);
  const auto found = futures_.find(name);
  if (found == futures_.end()) return std::nullopt;
  const LogDirectory& info = found->second.directory->info;
  return Future{found->second.log, info.path, info.directory_id};
}

std::vector<TopicPartition> LogManager::futures() const {
  const std::lock_guard guard(mutex_);
  std::vector<TopicPartition> names;
  names.reserve(futures_.size());
  for (const auto& [name, entry] : futures_) names.push_back(name);
  return names;
}

std::optional<LogManager::DirectoryStatus> LogManager::directory_at(const std::string& path) const {
  const std::lock_guard guard(mutex_);
  for (const auto& directory : directories_) {
    if (directory->info.path == path && !directory->info.metadata_only)
      return DirectoryStatus{directory->info.directory_id, directory->info.usable()};
  }
  return std::nullopt;
}

bool LogManager::is_usable(const Uuid& directory_id) const {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(directories_, [&](const auto& directory) {
    return directory->info.usable() && directory->info.directory_id == directory_id;
  });
}

bool LogManager::any_offline() const {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(directories_, [](const auto& directory) {
    return !directory->info.metadata_only && !directory->info.usable();
  });
}

std::vector<TopicPartition> LogManager::unfinished_switches() const {
  const std::lock_guard guard(mutex_);
  std::vector<TopicPartition> names;
  for (const auto& [name, entry] : logs_) {
    if (left_behind_.contains(name) || !is_named_plainly(*entry.log, name)) names.push_back(name);
  }
  return names;
}

bool LogManager::has_left_behind(const Directory& directory) const {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(left_behind_,
                             [&](const auto& each) { return each.second.directory == &directory; });
}

// --- on the way --------------------------------------------------------------------------------------------

Result<LogManager::Directory*> LogManager::reserve_future(const TopicPartition& name, const Entry& present,
                                                          const Uuid& directory_id) {
  const std::lock_guard guard(mutex_);
  Directory* target = nullptr;
  for (const auto& directory : directories_) {
    if (directory->info.metadata_only) continue;
    if (!directory->info.usable())
      return fail(ErrorKind::offline, "a replica of " + name.to_string() + " may be on its way to " +
                                          directory->info.path + ", which is offline");
    if (directory->info.directory_id == directory_id) target = directory.get();
  }
  if (target == nullptr)
    return fail(ErrorKind::not_found, "no log directory has the id " + directory_id.to_string());
  if (target == present.directory)
    return fail(ErrorKind::invalid, name.to_string() + " is in " + target->info.path + " already");
  if (const auto other = futures_.find(name); other != futures_.end())
    return fail(ErrorKind::already_exists,
                name.to_string() + " is on its way to " + other->second.directory->info.path);
  if (left_behind_.contains(name))
    return fail(ErrorKind::already_exists, name.to_string() + " has not left its old directory yet");
  ++target->partitions;
  return target;
}

Result<std::shared_ptr<Log>> LogManager::create_future(const TopicPartition& name, const Uuid& directory_id,
                                                       TimestampMs now) {
  const NameGuard guard(*this, name);
  BARNABAS_ASSIGN(const Entry present, find(name));
  if (const auto known = future(name); known && known->directory_id == directory_id) return known->log;
  BARNABAS_ASSIGN(Directory* const directory, reserve_future(name, present, directory_id));
  const auto made = [&]() -> Result<std::shared_ptr<Log>> {
    BARNABAS_TRY(forget_gone(*directory, name));
    BARNABAS_ASSIGN(const Uuid topic_id, present.log->topic_id());
    Log::OpenOptions options;
    options.topic = name.topic;
    options.partition = name.partition;
    options.topic_id = topic_id;
    options.config = present.log->config();
    options.changes = changes_;
    options.candidates = candidates_;
    options.now = now;
    const std::string path = directory->path_of(future_directory_name(name, Uuid::random()));
    auto opened = Log::open(disk_, files_, path, std::move(options));
    // What was begun must not be taken for a move at the next start.
    if (!opened) static_cast<void>(disk_.remove_tree(path).has_value());
    if (!opened) return std::unexpected(std::move(opened).error());
    return std::shared_ptr<Log>(std::move(*opened));
  }();
  if (!made) check(*directory, std::unexpected(made.error()));
  const std::lock_guard lock(mutex_);
  if (!made || !directory->info.usable()) {
    --directory->partitions;
    if (!made) return std::unexpected(made.error());
    return fail(ErrorKind::offline, directory->info.path + " went offline");
  }
  futures_.insert_or_assign(name, Entry{*made, directory});
  return *made;
}

void LogManager::delete_later(const TopicPartition& name, const Entry& entry, std::string path, Instant due) {
  const std::lock_guard guard(mutex_);
  entry.directory->high_watermarks.erase(name);
  entry.directory->note_gone(name);
  deletions_.push_back({std::move(path), due, entry.directory});
}

Result<void> LogManager::remove_future(const TopicPartition& name, Instant now) {
  const NameGuard guard(*this, name);
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = futures_.find(name);
    if (found == futures_.end()) return fail(ErrorKind::not_found, name.to_string() + " is not on its way");
    entry = found->second;
  }
  BARNABAS_ASSIGN(std::string path, rename_out(name, entry, &deleted_directory_name));
  {
    const std::lock_guard lock(mutex_);
    if (futures_.erase(name) != 0) --entry.directory->partitions;
  }
  const std::chrono::milliseconds delay(entry.log->config()->file_delete_delay_ms);
  delete_later(name, entry, std::move(path), now + delay);
  return sync_names(*entry.directory);
}

Result<void> LogManager::checkpoint_future(const TopicPartition& name) {
  Directory* directory = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = futures_.find(name);
    if (found == futures_.end()) return fail(ErrorKind::not_found, name.to_string() + " is not on its way");
    directory = found->second.directory;
  }
  const auto written = checkpoint_directory(*directory);
  check(*directory, written);
  return written;
}

// --- arriving ----------------------------------------------------------------------------------------------

// With mutex_ held: the future replica is the log from now on.
void LogManager::change_places(const TopicPartition& name) {
  auto arriving = futures_.extract(name);
  Directory& target = *arriving.mapped().directory;
  if (const auto leaving = logs_.find(name); leaving != logs_.end()) {
    Directory& source = *leaving->second.directory;
    left_behind_.insert_or_assign(name, leaving->second);
    --source.partitions;
    leaving->second = std::move(arriving.mapped());
  } else {
    logs_.insert_or_assign(name, std::move(arriving.mapped()));
  }
  lost_.erase(name);
  target.high_watermarks.erase(name);
  changes_->note();
}

Result<void> LogManager::switch_to_future(const TopicPartition& name, TimestampMs now,
                                          const std::function<void(const std::shared_ptr<Log>&)>& switched) {
  const NameGuard guard(*this, name);
  BARNABAS_ASSIGN(const Entry present, find(name));
  const auto arriving = future(name);
  if (!arriving) return fail(ErrorKind::not_found, name.to_string() + " is not on its way");
  return arriving->log->take_over(*present.log, now, [&] {
    const std::lock_guard lock(mutex_);
    const auto still = logs_.find(name);
    const auto there = futures_.find(name);
    if (still == logs_.end() || still->second.log != present.log || there == futures_.end()) return false;
    change_places(name);
    switched(arriving->log);
    return true;
  });
}

Result<void> LogManager::promote_future(const TopicPartition& name, Instant now) {
  {
    const NameGuard guard(*this, name);
    const auto arriving = future(name);
    if (!arriving) return fail(ErrorKind::not_found, name.to_string() + " is not on its way");
    if (const auto present = get(name)) {
      const Offset start = (*present)->log_start_offset();
      if (start > arriving->log->log_start_offset() && start <= arriving->log->log_end_offset())
        BARNABAS_TRY(arriving->log->delete_records_before(start));
    }
    const std::lock_guard lock(mutex_);
    if (futures_.contains(name)) change_places(name);
  }
  return finish_switch(name, now);
}

Result<void> LogManager::finish_switch(const TopicPartition& name, Instant now) {
  const NameGuard guard(*this, name);
  BARNABAS_ASSIGN(const Entry arrived, find(name));
  Entry left;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = left_behind_.find(name); found != left_behind_.end()) left = found->second;
  }
  if (is_named_plainly(*arrived.log, name) && !left.log) return {};
  // The names come last: until then the files must tell all that the old ones did.
  const auto prepared = checkpoint_directory(*arrived.directory);
  if (!check(*arrived.directory, prepared)) return prepared;
  std::string left_path;
  if (left.log) {
    BARNABAS_ASSIGN(left_path, leave(name, left));
  }
  if (auto named = name_plainly(name, arrived); !named) {
    // The old one stays findable: what is not here now can only be there.
    if (left.log && named.error().kind == ErrorKind::io && !left_path.empty() &&
        disk_.rename(left_path, left.directory->path_of(partition_directory_name(name))))
      static_cast<void>(sync_names(*left.directory).has_value());
    check(*arrived.directory, named);
    return named;
  }
  if (!left.log) return {};
  {
    const std::lock_guard lock(mutex_);
    left_behind_.erase(name);
  }
  if (left_path.empty()) return {};
  const std::chrono::milliseconds delay(arrived.log->config()->file_delete_delay_ms);
  delete_later(name, left, std::move(left_path), now + delay);
  // Were the partition to come back, it must not meet offsets of its former stay.
  const auto written = checkpoint_directory(*left.directory);
  check(*left.directory, written);
  return {};
}

// Takes the plain name away from what a switch left behind. Empty: its directory is offline, which concerns
// nobody any more. A name that was given in an earlier attempt stays.
Result<std::string> LogManager::leave(const TopicPartition& name, const Entry& left) {
  if (!is_named_plainly(*left.log, name)) return left.log->directory();
  auto path = rename_out(name, left, &deleted_directory_name);
  if (!path && path.error().kind == ErrorKind::no_space) return path;
  if (!path) return std::string();
  if (!sync_names(*left.directory)) return std::string();
  return path;
}

Result<void> LogManager::name_plainly(const TopicPartition& name, const Entry& arrived) {
  if (!is_named_plainly(*arrived.log, name))
    BARNABAS_TRY(arrived.log->move_directory(arrived.directory->path_of(partition_directory_name(name))));
  return disk_.sync_directory(arrived.directory->info.path);
}

}  // namespace barnabas::storage
