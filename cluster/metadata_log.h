#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/disk.h"
#include "metadata/control_record.h"
#include "metadata/record_list.h"
#include "metadata/replayer.h"
#include "metadata/snapshot.h"
#include "storage/file_pool.h"
#include "storage/log.h"

namespace barnabas::cluster {

/// The directory of the metadata log below a log directory, and its topic id in partition.metadata.
inline constexpr std::string_view metadata_log_directory = "__cluster_metadata-0";
Uuid metadata_topic_id();

/// The partition `__cluster_metadata-0` on disk: batches, and the snapshots beside them. Who may write, and what, is the
/// quorum's business. Format: docs/formats/metadata-log.md. One thread.
class MetadataLog {
 public:
  /// Opens the log below `log_directory`, made if missing, and replays it: the newest snapshot, then every batch after it,
  /// each with its checksum. Unless the last run ended cleanly a torn tail is dropped. `start` gives the cluster id. Blocks.
  /// ErrorKind::corrupt when batches before the log's start are in no snapshot; what the replay cannot read is its error.
  static Result<std::unique_ptr<MetadataLog>> open(io::Disk& disk, storage::FilePool& files,
                                                   const std::string& log_directory, bool clean,
                                                   const metadata::MetadataImage& start, TimestampMs now);

  /// Appends one batch to the page cache and replays it. After an error nothing was appended.
  Result<void> append(const metadata::RecordList& records, LeaderEpoch epoch, TimestampMs now);
  Result<void> append_control(const std::vector<metadata::ControlRecord>& records, LeaderEpoch epoch, TimestampMs now);
  /// Makes everything appended durable. Blocks. After an error the log is broken for good.
  Result<void> flush();

  /// Writes a snapshot of `image`, durable on return, and drops segments and snapshots that it makes superfluous. Blocks.
  Result<void> write_snapshot(const metadata::MetadataImage& image, TimestampMs now);
  /// Bytes appended since the newest snapshot, or since the beginning.
  uint64_t bytes_since_snapshot() const { return bytes_since_snapshot_; }

  metadata::Replayer& replayer() { return *replayer_; }
  Offset end_offset() const { return log_->log_end_offset(); }
  /// Of the last batch or snapshot; -1 in an empty log.
  LeaderEpoch last_epoch() const { return last_epoch_; }
  const std::string& directory() const { return directory_; }
  const storage::RecoveryReport& recovery() const { return log_->recovery(); }
  Result<void> close_clean() { return log_->close_clean(); }

 private:
  MetadataLog(io::Disk& disk, std::string directory) : disk_(disk), directory_(std::move(directory)) {}

  Result<void> load_snapshot(const metadata::MetadataImage& start);
  Result<void> open_log(storage::FilePool& files, bool clean, TimestampMs now);
  Result<void> replay_log();
  Result<void> append_batch(std::vector<std::byte> batch, LeaderEpoch epoch, TimestampMs now);
  Result<void> remove_superfluous(const metadata::SnapshotId& kept, TimestampMs now);

  io::Disk& disk_;
  std::string directory_;
  std::unique_ptr<storage::Log> log_;
  std::optional<metadata::Replayer> replayer_;
  std::optional<metadata::SnapshotId> snapshot_;
  LeaderEpoch last_epoch_ = no_leader_epoch;
  uint64_t bytes_since_snapshot_ = 0;
};

}  // namespace barnabas::cluster
