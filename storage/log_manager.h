#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "io/disk.h"
#include "storage/checkpoint_file.h"
#include "storage/log.h"
#include "storage/log_directories.h"
#include "storage/periodic_schedule.h"
#include "storage/topic_partition.h"

namespace barnabas::storage {

/// Settings of the manager itself; what concerns one log is in LogConfig.
struct LogManagerOptions {
  /// The settings of a topic (its overrides over the broker's defaults), never null; asked while loading,
  /// once per topic, from several threads, and by create when it is given none. Empty: LogConfig's own
  /// defaults.
  std::function<std::shared_ptr<const LogConfig>(const std::string& topic)> config_of;
  /// A directory went offline; its logs are no longer found. Called once per directory, from the thread that
  /// met the failure, without locks held; it must not call back into load or shut_down.
  std::function<void(const LogDirectory& directory, const std::vector<TopicPartition>& lost)> on_offline;

  unsigned load_threads = 2;  ///< num.recovery.threads.per.data.dir times directories
  std::chrono::milliseconds retention_interval{300'000};  ///< log.retention.check.interval.ms
  std::chrono::milliseconds checkpoint_interval{60'000};  ///< log.flush.offset.checkpoint.interval.ms
  std::chrono::milliseconds start_checkpoint_interval{
      60'000};  ///< log.flush.start.offset.checkpoint.interval.ms
  /// replica.high.watermark.checkpoint.interval.ms
  std::chrono::milliseconds high_watermark_interval{5'000};
  /// log.flush.scheduler.interval.ms: how often flush.ms of the logs is looked at.
  std::chrono::milliseconds flush_interval = std::chrono::milliseconds::max();
  std::chrono::milliseconds producer_expiry_interval{600'000};  ///< producer.id.expiration.check.interval.ms
};

/// Where the metadata want a partition.
struct Assignment {
  Uuid topic_id;      ///< zero: the metadata do not know the partition
  Uuid directory_id;  ///< zero or another reserved id: not said
};

struct LoadSummary {
  std::size_t logs = 0;       ///< open now
  std::size_t recovered = 0;  ///< of them, scanned because the last run did not end cleanly
  std::size_t deletions =
      0;  ///< directories that the last run marked for deletion; the next tick removes them
  std::vector<std::string> ignored;  ///< paths of directories that are no partitions to serve; left alone
};

/// What DescribeLogDirs shows of one directory.
struct LogDirectoryDescription {
  std::string path;
  Uuid directory_id;
  std::optional<Error> failure;
  io::VolumeSize volume;  ///< zeros when the directory failed
  struct Partition {
    TopicPartition name;
    uint64_t size_bytes = 0;
    bool is_future = false;
    int64_t offset_lag = 0;  ///< of a future replica: what it lacks of the present one
  };
  std::vector<Partition> partitions;  ///< sorted by name; empty when the directory failed
};

/// All partition logs of a node over its log directories. Owns the logs together with whoever got one from
/// it; a log that was removed or lost stays valid as an object and answers errors.
///
/// Failure rule: an ErrorKind::io from any log or file of a directory takes that directory offline, with its
/// logs and no others, until the process ends. ErrorKind::no_space does not.
///
/// Threads: all methods may be called from any thread, except that load comes first and alone, and shut_down
/// last. Those marked "blocks" wait for devices and belong on the disk pool. The partition
/// `__cluster_metadata-0` is not among the logs: its owner opens it through Log.
class LogManager {
 public:
  LogManager(io::Disk& disk, FilePool& files, LogDirectories directories, LogManagerOptions options);
  /// Without shut_down before it this is a crash: nothing is flushed or marked.
  ~LogManager();
  LogManager(const LogManager&) = delete;
  LogManager& operator=(const LogManager&) = delete;

  /// Opens every partition of every usable directory, on `load_threads` threads of its own. Blocks. An
  /// unreadable log takes its directory offline as above; an error comes only when no directory is left.
  Result<LoadSummary> load(TimestampMs now);
  /// After load, once the metadata are known: of a partition that lies in two directories (a device failed in
  /// the last step of a move; or the topic was deleted and made again while one of them was offline) the one
  /// that the metadata mean stays, by topic id, then by directory; others are set aside. ErrorKind::invalid,
  /// naming both directories, when that decides nothing. Blocks.
  Result<void> resolve_doubles(const std::function<Assignment(const TopicPartition&)>& assignment);

  /// The log of a partition; ErrorKind::not_found, or ErrorKind::offline when it was lost with its directory.
  Result<std::shared_ptr<Log>> get(const TopicPartition& name) const;
  /// All logs that are online, sorted by name.
  std::vector<std::pair<TopicPartition, std::shared_ptr<Log>>> all() const;

  struct CreateOptions {
    Uuid topic_id;
    /// Where; zero: the usable directory with the fewest partitions, the first in log.dirs among equals.
    Uuid directory_id;
    /// The metadata say that the partition has just been made. If not, and some directory is offline, its log
    /// may lie there, and making an empty one would lose it: ErrorKind::offline.
    bool is_new = true;
    /// Null: what LogManagerOptions::config_of says.
    std::shared_ptr<const LogConfig> config = {};
  };
  /// Makes the log of a partition, or returns the one there is. ErrorKind::already_exists if that one has
  /// another topic id: remove it first. Costs no sync: until the first flush of the log has returned, a power
  /// cut may leave nothing of it, or its topic id unreadable, and the metadata's next create makes that good.
  /// Blocks.
  Result<std::shared_ptr<Log>> create(const TopicPartition& name, const CreateOptions& options,
                                      TimestampMs now);

  /// Takes a log out and renames its directory to "<topic>-<partition>.<32 hex>-delete"; a new log may have
  /// the name at once. The files go when file.delete.delay.ms has passed, in a tick. Durable when it returns.
  /// Blocks.
  Result<void> remove(const TopicPartition& name, Instant now);
  /// Many at once, as of a whole topic: one sync for all of them. Goes on after an error and returns the
  /// first one.
  Result<void> remove(std::span<const TopicPartition> names, Instant now);

  /// As remove, but to "…-stray", for a log that the metadata do not know: it is kept for a person to look at
  /// and never loaded again. Blocks.
  Result<void> set_aside(const TopicPartition& name);

  // --- moving to another directory of the node (KIP-113); log_manager_moves.cc
  // ---------------------------------
  //
  // A replica on its way is a log of its own, in "<topic>-<partition>.<32 hex>-future" of the target. It
  // follows the present log (Log::follow) until somebody decides that it takes its place: switch_to_future
  // changes places in memory only, finish_switch gives the directories their names. In between, the metadata
  // must say already that the target holds the partition, for then a start at any moment goes on with the
  // right one (promote_future).

  struct Future {
    std::shared_ptr<Log> log;
    std::string path;  ///< of the log directory
    Uuid directory_id;
  };
  /// The replica that is on its way to another directory.
  std::optional<Future> future(const TopicPartition& name) const;
  std::vector<TopicPartition> futures() const;
  /// Makes an empty one, or returns the one that is in this directory already. ErrorKind::invalid: the
  /// present log is there. already_exists: one is on its way to another directory. offline, as in Kafka, also
  /// when any other directory is offline: a future replica might lie there. Blocks.
  Result<std::shared_ptr<Log>> create_future(const TopicPartition& name, const Uuid& directory_id,
                                             TimestampMs now);
  /// Renames it to "…-delete"; not_found. Blocks.
  Result<void> remove_future(const TopicPartition& name, Instant now);
  /// Writes the checkpoints of the directory that the future replica is in. Blocks.
  Result<void> checkpoint_future(const TopicPartition& name);
  /// Log::take_over, after which the future replica is the log of that name. `switched` runs while appends
  /// are locked out.
  Result<void> switch_to_future(const TopicPartition& name, TimestampMs now,
                                const std::function<void(const std::shared_ptr<Log>&)>& switched);
  /// Renames what the switch left behind to "…-delete" and the log's own directory to its plain name, durably
  /// and in this order. Does nothing when that is done. May be called again after ErrorKind::no_space.
  /// Blocks.
  Result<void> finish_switch(const TopicPartition& name, Instant now);
  /// Those for which finish_switch has something to do. Goes through all logs.
  std::vector<TopicPartition> unfinished_switches() const;
  /// For a start that finds a future replica which had taken the place already, or is all there is.
  Result<void> promote_future(const TopicPartition& name, Instant now);
  struct DirectoryStatus {
    Uuid directory_id;
    bool usable = false;
  };
  /// By its path, exactly as in log.dirs; nullopt: there is none.
  std::optional<DirectoryStatus> directory_at(const std::string& path) const;
  /// Whether a directory with this id is usable; and whether any directory is not.
  bool is_usable(const Uuid& directory_id) const;
  bool any_offline() const;

  /// To be called by everybody who gets an error from a log; decides by the failure rule.
  void report(const TopicPartition& name, const Error& error);
  void report_directory(const std::string& path, const Error& error);

  /// Does all periodic work that is due: retention, rolls, flushes, checkpoints, expiry of producers, removal
  /// of what was marked. Blocks; one call at a time. `now` is for deadlines, `wall` for the ages of records.
  /// Returns when to call next.
  Instant tick(Instant now, TimestampMs wall);

  /// The high watermark that replication-offset-checkpoint held at start; Offset{0} when none.
  Offset checkpointed_high_watermark(const TopicPartition& name) const;
  /// What the checkpoint shall say from now on: asked for every log when checkpoints are written. A log for
  /// which it has no answer keeps the value it was loaded with.
  void set_high_watermark_source(std::function<std::optional<Offset>(const TopicPartition&)> source);
  /// Writes all four checkpoint files of every usable directory now. Blocks.
  void write_checkpoints();
  /// Makes the log starts of these partitions durable. Costs what log-start-offset-checkpoint holds, not what
  /// the node does. Blocks.
  void checkpoint_log_starts(std::span<const TopicPartition> names);

  // --- for the cleaner (log_cleaner.h) ---

  /// Partitions whose cleanup policy contains compact, as far as logs of this manager have it.
  std::vector<TopicPartition> compaction_candidates() const { return candidates_->all(); }
  struct Compactable {
    std::shared_ptr<Log> log;
    Offset high_watermark{0};
  };
  /// ErrorKind::not_found, offline.
  Result<Compactable> compactable(const TopicPartition& name) const;
  /// Writes the recovery points of the log's directory, if they have changed. Blocks.
  Result<void> checkpoint_recovery_point(const TopicPartition& name);
  /// A log was compacted: writes the cleaner-offset-checkpoint of its directory and sees to the files that
  /// were replaced. Blocks.
  void note_compacted(const TopicPartition& name, Instant now);

  std::vector<LogDirectoryDescription> describe() const;
  const std::string& cluster_id() const { return cluster_id_; }
  BrokerEpoch previous_broker_epoch() const { return previous_broker_epoch_; }
  /// Directory of a log; zero when the log is not there.
  Uuid directory_of(const TopicPartition& name) const;
  /// Path of that directory; "" when the log is not there.
  std::string path_of(const TopicPartition& name) const;
  /// Ids of the directories of log.dirs that are usable, in their order.
  std::vector<Uuid> usable_directories() const;
  /// Their paths.
  std::vector<std::string> usable_paths() const;

  /// Flushes all, closes each log so that it needs no recovery, writes the checkpoints, and last the
  /// clean-shutdown marker of every directory in which all of this went well; then unlocks. Blocks. Appends
  /// must have ended before. The first error is returned after everything possible was done.
  Result<void> shut_down(BrokerEpoch broker_epoch);

 private:
  struct Directory;
  struct Entry {
    std::shared_ptr<Log> log;
    Directory* directory = nullptr;
  };
  /// Something that goes when its time has come.
  struct Deletion {
    std::string path;
    Instant due;
    Directory* directory = nullptr;
  };
  struct Loading;
  class NameGuard;

  // Loading (log_manager_load.cc).
  void read_checkpoints(Directory& directory, Loading& loading);
  void list_directory(Directory& directory, Loading& loading);
  void load_one(Loading& loading, std::size_t index, TimestampMs now);
  void flush_recovered(Loading& loading);
  Result<void> flush_together(const Directory& directory, const std::vector<Log*>& logs);
  void publish(Loading& loading);
  void take_in(Loading& loading, std::vector<std::pair<TopicPartition, Entry>>& given_up);
  Result<void> announce_failures(Loading& loading);
  std::shared_ptr<const LogConfig> config_while_loading(const std::string& topic);

  // The offline rule.
  void take_offline(Directory& directory, const Error& error);
  /// Applies the rule to the outcome of the manager's own work; whether it was a success.
  bool check(Directory& directory, const Result<void>& result);

  // Creating and taking out.
  Result<Entry> find(const TopicPartition& name) const;
  Result<std::shared_ptr<Log>> open_new(const TopicPartition& name, const CreateOptions& options,
                                        TimestampMs now);
  Result<Directory*> reserve_directory(const TopicPartition& name, const CreateOptions& options);
  /// Makes sure that no checkpoint file names a partition that is about to be made anew.
  Result<void> forget_gone(Directory& directory, const TopicPartition& name);
  /// Renames the directories of a partition (a future replica's and what a switch left behind too), durable
  /// after sync_names. Returns the new paths.
  using NewName = std::string (*)(const TopicPartition&, const Uuid&);
  struct TakenOut {
    std::vector<std::pair<Directory*, std::string>> directories;
    std::chrono::milliseconds delete_delay{0};
    std::optional<Error> error;  ///< the first one
  };
  TakenOut take_out(const TopicPartition& name, NewName new_name);
  Result<std::string> rename_out(const TopicPartition& name, const Entry& entry, NewName new_name);
  void delete_later(const TopicPartition& name, const Entry& entry, std::string path, Instant now);
  void describe_futures(const Directory& directory, LogDirectoryDescription& description) const;
  Result<Directory*> reserve_future(const TopicPartition& name, const Entry& present,
                                    const Uuid& directory_id);
  void change_places(const TopicPartition& name);
  Result<std::string> leave(const TopicPartition& name, const Entry& left);
  Result<void> name_plainly(const TopicPartition& name, const Entry& arrived);
  bool has_left_behind(const Directory& directory) const;
  Result<void> sync_names(Directory& directory);

  // Periodic work and the end (log_manager_periodic.cc).
  void flush_due_logs(TimestampMs wall);
  void schedule_deletions(const Entry& entry, Instant now);
  void clean_up(Instant now, TimestampMs wall);
  void remove_due(Instant now);
  void expire_producers(TimestampMs wall);
  enum class CheckpointFile : uint8_t { recovery_point, log_start, high_watermark, cleaner };
  void checkpoint_all(CheckpointFile file);
  /// As checkpoint_all, unless no log has moved since the last time.
  void checkpoint_changes(CheckpointFile file);
  Result<void> checkpoint_log_starts(Directory& directory,
                                     std::span<const std::pair<TopicPartition, Entry>> logs);
  Result<void> write_checkpoint(Directory& directory, CheckpointFile file, const OffsetCheckpoint& offsets);
  Result<void> checkpoint(Directory& directory, CheckpointFile file);
  Result<void> checkpoint_directory(Directory& directory);
  OffsetCheckpoint collect(const Directory& directory, CheckpointFile file) const;
  using HighWatermarkSource = std::function<std::optional<Offset>(const TopicPartition&)>;
  HighWatermarkSource high_watermark_source() const;
  /// What the source says, else what the checkpoint file said at start.
  Offset high_watermark_of(const HighWatermarkSource& source, const TopicPartition& name,
                           const Entry& entry) const;
  /// The logs that are online (of one directory), sorted by name.
  std::vector<std::pair<TopicPartition, Entry>> entries(const Directory* only = nullptr) const;
  /// Those that have files open for writing besides: future replicas, and what a switch left behind.
  std::vector<std::pair<TopicPartition, Entry>> other_entries(const Directory* only = nullptr) const;
  Result<void> finish(Directory& directory, BrokerEpoch broker_epoch);

  io::Disk& disk_;
  FilePool& files_;
  const LogManagerOptions options_;
  const std::string cluster_id_;
  const BrokerEpoch previous_broker_epoch_;
  std::vector<std::unique_ptr<Directory>> directories_;  // the list is fixed; what is in them is under mutex_
  PeriodicSchedule schedule_;
  const std::shared_ptr<OffsetChanges> changes_ = std::make_shared<OffsetChanges>();
  const std::shared_ptr<CompactionCandidates> candidates_ = std::make_shared<CompactionCandidates>();

  mutable std::mutex mutex_;
  std::condition_variable name_is_free_;
  std::unordered_map<TopicPartition, Entry> logs_;
  std::unordered_map<TopicPartition, Entry> futures_;  // on their way to another directory
  std::unordered_map<TopicPartition, Entry>
      left_behind_;  // had their place taken, still under the plain name
  std::vector<std::pair<TopicPartition, Entry>> doubles_;  // found at start beside one of the same name
  std::unordered_map<TopicPartition, Directory*> lost_;    // with their directories
  std::unordered_set<TopicPartition> busy_names_;          // being created or taken out
  std::unordered_map<std::string, std::shared_ptr<const LogConfig>> configs_;  // while loading
  std::vector<Deletion> deletions_;
  std::function<std::optional<Offset>(const TopicPartition&)> high_watermarks_;
};

}  // namespace barnabas::storage
