#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "storage/log_manager.h"

namespace barnabas::storage {

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

}  // namespace barnabas::storage
