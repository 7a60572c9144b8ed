#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/disk.h"
#include "metadata/snapshot.h"

namespace barnabas::cluster {

/// The snapshot files beside the metadata log: `<end offset>-<epoch>.checkpoint`. One thread.
class MetadataSnapshots {
 public:
  struct File {
    metadata::SnapshotId id;
    uint64_t size_bytes = 0;
    TimestampMs last_contained;  ///< of the log; no_timestamp if the file does not say
  };

  MetadataSnapshots(io::Disk& disk, std::string directory) : disk_(disk), directory_(std::move(directory)) {}

  /// Finds the files, removes what a crash left of unfinished ones, and reads the newest one that is whole;
  /// null when there is none. Those that are damaged are remembered. ErrorKind::unsupported: a newer broker
  /// wrote it. Blocks.
  Result<metadata::MetadataImagePtr> load(const metadata::MetadataImage& start);
  /// What is damaged in a snapshot that is newer than the one that was loaded, with path, and where it ends;
  /// nullopt: nothing.
  struct Damaged {
    metadata::SnapshotId id;
    std::string what;
  };
  const std::optional<Damaged>& damaged() const { return damaged_; }
  /// Renames the damaged files to `….damaged`, durably: the log had all that was in them. Blocks.
  Result<void> set_damaged_aside();

  /// Atomic and durable. Blocks.
  Result<void> write(const metadata::MetadataImage& image, TimestampMs now);

  const std::optional<metadata::SnapshotId>& newest() const { return newest_; }
  const std::vector<File>& files() const { return files_; }  ///< whole ones, oldest first
  uint64_t size_bytes() const;
  /// There must be a newer one.
  Result<void> remove_oldest();

 private:
  std::string path(const metadata::SnapshotId& id) const { return directory_ + "/" + id.file_name(); }
  Result<std::vector<metadata::SnapshotId>> list_and_tidy();
  File describe(const metadata::SnapshotId& id, ByteView content) const;

  io::Disk& disk_;
  const std::string directory_;
  std::vector<File> files_;
  std::optional<metadata::SnapshotId> newest_;
  std::vector<metadata::SnapshotId> damaged_ids_;
  std::optional<Damaged> damaged_;
};

}  // namespace barnabas::cluster
