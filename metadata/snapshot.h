#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "metadata/image.h"

/// Snapshots of the metadata log (KIP-630): the image as a file of record batches with their own offsets,
/// between a header and a footer. Format: docs/formats/metadata-log.md.
namespace barnabas::metadata {

/// Names a snapshot: the log up to `end_offset` (exclusive), whose last batch has `epoch`.
struct SnapshotId {
  Offset end_offset{0};
  LeaderEpoch epoch{0};
  auto operator<=>(const SnapshotId&) const = default;

  /// "<20 digits>-<10 digits>.checkpoint"
  std::string file_name() const;
  /// Empty if that is no name of a finished snapshot.
  static std::optional<SnapshotId> parse_file_name(std::string_view name);
};

/// The image that a whole snapshot file holds, at position `id`. `start` gives what the log does not hold
/// (cluster id). ErrorKind::corrupt also for a file without footer: it was never finished.
Result<MetadataImagePtr> read_snapshot(ByteView file, const SnapshotId& id, const MetadataImage& start);

/// The time of the last batch of the log that the snapshot contains, as its header says; `head` is the file's
/// beginning. no_timestamp if that is no header.
TimestampMs snapshot_last_contained(ByteView head);

/// A whole snapshot file of the image. `now` is the time of its batches.
std::vector<std::byte> write_snapshot(const MetadataImage& image, TimestampMs now);

}  // namespace barnabas::metadata
