#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "base/uuid.h"
#include "io/disk.h"
#include "storage/topic_partition.h"
#include "tools/check/findings.h"

namespace barnabas::tools {

/// What is known of a partition from outside its directory.
struct PartitionContext {
  bool clean = false;    ///< the last run ended cleanly: nothing may be torn or missing
  bool contents = true;  ///< read and verify every batch; else names, sizes and headers only
  std::optional<Offset> recovery_point;
  std::optional<Offset> log_start;
  std::optional<Offset> high_watermark;
  std::optional<Uuid> topic_id;  ///< from the metadata
};

/// A segment that was found good up to a byte.
struct CheckedSegment {
  std::string path;
  Offset base_offset;
  uint64_t good_bytes = 0;
  Offset next_offset;  ///< behind the last good batch
};

/// Checks a partition's directory: names, every batch and record of the segments, that segments follow one
/// another, indexes and producer snapshots against the segments, leader epochs against the batches,
/// checkpoints against the log end. Nothing is written. What a crash may leave is a note unless the last run
/// ended cleanly. Returns the segments, oldest first.
std::vector<CheckedSegment> check_partition(io::Disk& disk, const std::string& directory,
                                            const PartitionContext& context, Findings& findings);

}  // namespace barnabas::tools
