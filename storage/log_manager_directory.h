#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "storage/log_manager.h"

namespace barnabas::storage {

/// From so many logs on one sync of the whole file system costs less than several for each (measured: see
/// docs/performance.md), although it also waits for what others have written to it.
inline constexpr std::size_t sync_together_from = 64;
/// Syncs of several threads at once share the file system's journal commits.
inline constexpr unsigned syncing_threads = 16;

/// A log directory as its manager knows it. Private to log_manager*.cc. Under the manager's mutex unless said
/// otherwise.
struct LogManager::Directory {
  static constexpr std::size_t checkpoint_files = 4;

  LogDirectory info;           // path and ids never change
  std::size_t partitions = 0;  // logs here, those that are just being made included

  // As the checkpoint files said at start. All but the high watermarks are used up by loading.
  OffsetCheckpoint recovery_points;
  OffsetCheckpoint start_offsets;
  OffsetCheckpoint high_watermarks;
  OffsetCheckpoint cleaner_offsets;

  /// A partition that is gone while checkpoint files may still name it. A log that gets its name must not
  /// inherit their offsets, so these files are written before it is made.
  struct GoneName {
    uint64_t generation = 0;  // of `gone_generation` when it went
    unsigned files = 0;       // a bit for each CheckpointFile that may name it
  };
  std::map<TopicPartition, GoneName> gone;
  uint64_t gone_generation = 0;

  void note_gone(const TopicPartition& name) {
    gone[name] = {++gone_generation, (1U << checkpoint_files) - 1};
  }

  std::mutex checkpoint_mutex;  // one writer of checkpoint files at a time; taken before the manager's
  /// What each file holds, once it was written. Under checkpoint_mutex.
  std::array<std::optional<std::string>, checkpoint_files> written;
  /// As of the last write of log-start-offset-checkpoint. Under checkpoint_mutex.
  OffsetCheckpoint log_starts;

  std::string path_of(const std::string& name) const { return info.path + "/" + name; }
};

/// Keeps others from creating or taking out a log of the same name meanwhile.
class LogManager::NameGuard {
 public:
  NameGuard(LogManager& manager, const TopicPartition& name) : manager_(manager), name_(name) {
    std::unique_lock lock(manager_.mutex_);
    manager_.name_is_free_.wait(lock, [&] { return manager_.busy_names_.insert(name_).second; });
  }
  ~NameGuard() {
    {
      const std::lock_guard guard(manager_.mutex_);
      manager_.busy_names_.erase(name_);
    }
    manager_.name_is_free_.notify_all();
  }
  NameGuard(const NameGuard&) = delete;
  NameGuard& operator=(const NameGuard&) = delete;

 private:
  LogManager& manager_;
  const TopicPartition name_;
};

}  // namespace barnabas::storage
