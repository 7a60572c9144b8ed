#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "cluster/metadata_snapshots.h"
#include "io/disk.h"
#include "metadata/control_record.h"
#include "metadata/record_list.h"
#include "metadata/replayer.h"
#include "storage/file_pool.h"
#include "storage/log.h"

namespace barnabas::cluster {

/// The metadata log's topic id in partition.metadata.
Uuid metadata_topic_id();

struct MetadataLogSettings {
  int32_t segment_bytes = 1 << 30;      ///< metadata.log.segment.bytes
  int64_t segment_ms = 604'800'000;     ///< metadata.log.segment.ms
  int64_t retention_bytes = 100 << 20;  ///< metadata.max.retention.bytes; -1: any size
  int64_t retention_ms = 604'800'000;   ///< metadata.max.retention.ms; -1: for ever
  /// A snapshot is due when so many bytes came after the last
  /// (metadata.log.max.record.bytes.between.snapshots).
  uint64_t snapshot_bytes = 20 << 20;
  /// Bytes of a batch at most, so that Kafka, whose own have 8 MiB, reads each of them in one go. What is
  /// larger is written as several batches that a metadata transaction holds together.
  std::size_t batch_bytes = 4 << 20;
};

/// The partition `__cluster_metadata-0` on disk: batches, and the snapshots beside them. Who may write, and
/// what, is the quorum's business. Format: docs/formats/metadata-log.md. One thread.
class MetadataLog {
 public:
  /// Opens the log below `log_directory`, made if missing, and replays it: the newest snapshot, then every
  /// batch after it, each with its checksum. Unless the last run ended cleanly a torn tail is dropped. A
  /// damaged snapshot is set aside when the log still has all that was in it. `start` gives the cluster id.
  /// Blocks. ErrorKind::corrupt when anything that was acknowledged would be lost; what the replay cannot
  /// read is its error.
  static Result<std::unique_ptr<MetadataLog>> open(io::Disk& disk, storage::FilePool& files,
                                                   const std::string& log_directory, bool clean,
                                                   const metadata::MetadataImage& start,
                                                   const MetadataLogSettings& settings, TimestampMs now);

  /// Takes records in that the next commit writes, and replays them at once. All that is staged between two
  /// commits stands or falls together. A metadata transaction `is_transaction` may become several batches;
  /// all else becomes one.
  Result<void> stage(const metadata::RecordList& records, LeaderEpoch epoch, TimestampMs now,
                     bool is_transaction = false);
  /// Whether `records` can be staged and still be one batch with what is staged already.
  bool fits(const metadata::RecordList& records) const;
  bool fits_one_batch(const metadata::RecordList& records) const;
  /// Writes what is staged and makes it durable. Blocks.
  /// ErrorKind::no_space and too_large: nothing of it was written, and the log is as after the commit before.
  /// After any other error the log is of no use.
  Result<void> commit(LeaderEpoch epoch, TimestampMs now);
  /// A control batch, durable on return. Nothing may be staged. Errors as of commit.
  Result<void> commit_control(const std::vector<metadata::ControlRecord>& records, LeaderEpoch epoch,
                              TimestampMs now);

  /// Writes a snapshot of `image`, which must be committed; durable on return. Then removes segments and
  /// snapshots that the retention settings let go, never the newest snapshot or anything behind it. Does
  /// nothing if there is one already. Blocks.
  Result<void> write_snapshot(const metadata::MetadataImage& image, TimestampMs now);
  /// Enough was appended since the newest snapshot, or a damaged one has to be made good.
  bool snapshot_due() const;
  /// Anything was appended since the newest snapshot.
  bool has_news() const { return bytes_since_snapshot_ > 0; }

  metadata::Replayer& replayer() { return *replayer_; }
  /// That the next record gets, staged or not.
  Offset next_offset() const { return log_->log_end_offset() + static_cast<int64_t>(staged_.size()); }
  /// Of the last batch or snapshot; -1 in an empty log.
  LeaderEpoch last_epoch() const { return last_epoch_; }
  const std::string& directory() const { return directory_; }
  /// What was made good while opening, for the operator; empty: nothing.
  std::string healed() const;
  Result<void> close_clean() { return log_->close_clean(); }

 private:
  MetadataLog(io::Disk& disk, std::string directory, const MetadataLogSettings& settings)
      : disk_(disk), directory_(std::move(directory)), settings_(settings), snapshots_(disk, directory_) {}

  Result<void> load_snapshot(const metadata::MetadataImage& start);
  Result<void> open_log(storage::FilePool& files, bool clean, TimestampMs now);
  Result<void> check_reach() const;
  Result<void> replay_log();
  Result<void> append_batch(std::vector<std::byte> batch, LeaderEpoch epoch, TimestampMs now);
  Result<void> write_staged(LeaderEpoch epoch, TimestampMs now);
  Result<void> take_back(Offset end, Error error);
  Result<void> flush();
  Result<void> clean(TimestampMs now);
  Result<void> drop_segments_below(Offset offset, TimestampMs now);
  Offset snapshot_end() const { return snapshots_.newest() ? snapshots_.newest()->end_offset : Offset{0}; }

  io::Disk& disk_;
  std::string directory_;
  const MetadataLogSettings settings_;
  MetadataSnapshots snapshots_;
  std::unique_ptr<storage::Log> log_;
  std::optional<metadata::Replayer> replayer_;
  metadata::MetadataImagePtr committed_;  ///< what a commit that fails goes back to
  metadata::RecordList staged_;
  bool staged_transaction_ = false;
  LeaderEpoch last_epoch_ = no_leader_epoch;
  uint64_t bytes_since_snapshot_ = 0;
  bool snapshot_wanted_ = false;  ///< in place of a damaged one
};

}  // namespace barnabas::cluster
