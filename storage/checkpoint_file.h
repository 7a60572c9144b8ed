#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "io/disk.h"
#include "storage/topic_partition.h"

namespace barnabas::storage {

/// One offset per partition, as the checkpoint files at the top of a log directory hold it. Format:
/// docs/formats/checkpoint-files.md.
using OffsetCheckpoint = std::map<TopicPartition, Offset>;

inline constexpr std::string_view replication_offset_checkpoint = "replication-offset-checkpoint";
inline constexpr std::string_view recovery_point_offset_checkpoint = "recovery-point-offset-checkpoint";
inline constexpr std::string_view log_start_offset_checkpoint = "log-start-offset-checkpoint";
inline constexpr std::string_view cleaner_offset_checkpoint = "cleaner-offset-checkpoint";

/// An empty text is an empty checkpoint; of a partition that is named twice the last line counts.
/// ErrorKind::corrupt names line, finding and expectation; unsupported for a version other than 0.
Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text);
std::string format_offset_checkpoint(const OffsetCheckpoint& offsets);

/// A file that is not there is an empty checkpoint.
Result<OffsetCheckpoint> read_offset_checkpoint(io::Disk& disk, const std::string& path);
/// Atomic and durable.
Result<void> write_offset_checkpoint(io::Disk& disk, const std::string& path,
                                     const OffsetCheckpoint& offsets);

}  // namespace barnabas::storage
