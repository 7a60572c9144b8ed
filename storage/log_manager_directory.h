#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>

#include "storage/log_manager.h"

namespace barnabas::storage {

/// A log directory as its manager knows it. Private to log_manager*.cc. Under the manager's mutex unless said
/// otherwise.
struct LogManager::Directory {
  LogDirectory info;           // path and ids never change
  std::size_t partitions = 0;  // logs here, those that are just being made included

  // As the checkpoint files said at start. Those of the first two are used up by loading.
  OffsetCheckpoint recovery_points;
  OffsetCheckpoint start_offsets;
  OffsetCheckpoint high_watermarks;
  OffsetCheckpoint cleaner_offsets;

  std::mutex checkpoint_mutex;  // one writer of checkpoint files at a time; taken before the manager's
  std::array<std::optional<std::string>, 4>
      written;  // what each file holds, once it was written; under checkpoint_mutex

  std::string path_of(const std::string& name) const { return info.path + "/" + name; }
};

}  // namespace barnabas::storage
