#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "io/disk.h"
#include "storage/file_pool.h"

namespace barnabas::storage {

/// Names in a partition's directory, as Apache Kafka has them.
inline constexpr std::string_view log_suffix = ".log";
inline constexpr std::string_view offset_index_suffix = ".index";
inline constexpr std::string_view time_index_suffix = ".timeindex";
inline constexpr std::string_view transaction_index_suffix = ".txnindex";
inline constexpr std::string_view producer_snapshot_suffix = ".snapshot";
inline constexpr std::string_view deleted_suffix = ".deleted";  ///< renamed away, to be removed
inline constexpr std::string_view cleaned_suffix = ".cleaned";  ///< made by an unfinished compaction
inline constexpr std::string_view swap_suffix = ".swap";        ///< made by a finished one, to take its place
inline constexpr std::string_view leader_epoch_checkpoint_name = "leader-epoch-checkpoint";
inline constexpr std::string_view partition_metadata_name = "partition.metadata";

/// "00000000000000000042" + suffix.
std::string segment_file_name(Offset base_offset, std::string_view suffix);
/// The offset of such a name; nullopt if it is not 20 digits and exactly this suffix.
std::optional<Offset> offset_of_file_name(std::string_view name, std::string_view suffix);

/// What all parts of one log share: where its files are and through what they are reached. Safe for several
/// threads.
class LogFiles {
 public:
  LogFiles(io::Disk& disk, FilePool& pool, std::string directory)
      : disk_(disk), pool_(pool), directory_(std::move(directory)) {}

  io::Disk& disk() { return disk_; }
  FilePool& pool() { return pool_; }
  std::string directory() const {
    std::lock_guard lock(mutex_);
    return directory_;
  }
  /// Renames the directory. Whoever asks for its name meanwhile waits for the new one; who has asked before
  /// and then does not find his file asks again (retry_if_renamed).
  Result<void> rename_directory(const std::string& to) {
    std::lock_guard lock(mutex_);
    BARNABAS_TRY(disk_.rename(directory_, to));
    directory_ = to;
    return {};
  }
  /// Calls `look_up` again when what it looked for was not there because the directory got another name.
  template <class LookUp>
  auto retry_if_renamed(LookUp&& look_up) {
    while (true) {
      const std::string before = directory();
      auto found = look_up();
      if (found || found.error().kind != ErrorKind::not_found || directory() == before) return found;
    }
  }
  std::string path(std::string_view name) const;
  std::string path(Offset base_offset, std::string_view suffix) const {
    return path(segment_file_name(base_offset, suffix));
  }

 private:
  io::Disk& disk_;
  FilePool& pool_;
  mutable std::mutex mutex_;
  std::string directory_;
};

}  // namespace barnabas::storage
