#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.h"
#include "storage/log_config.h"

namespace barnabas::storage {

/// What retention must know of a segment.
struct RetentionSegment {
  Offset next_offset;  ///< where the next segment begins; for the active one the log end
  uint64_t size_bytes = 0;
  /// Of its records; of the file when they have none.
  TimestampMs largest_timestamp;
};

struct RetentionPlan {
  enum class Reason { none, log_start_offset, size, time };
  std::size_t segments = 0;      ///< so many of the oldest go
  Reason reason = Reason::none;  ///< of the last one
};

/// Decides which segments go, oldest first, as Kafka 4.4 does:
///
///   the next segment begins at or below the log start offset         goes, whatever the cleanup policy
///   without it the log still has at least retention.bytes            goes, if cleanup.policy contains delete
///   its largest timestamp is older than retention.ms                 goes, if cleanup.policy contains delete
///   it reaches above the high watermark, or is active and empty      stays, and so do all newer ones
///
/// The active segment may go too, by size or time; the caller rolls first then. Timestamps in the future keep
/// a segment from going by time only.
RetentionPlan plan_retention(std::span<const RetentionSegment> segments, const LogConfig& config,
                             Offset log_start, Offset high_watermark, TimestampMs now);

}  // namespace barnabas::storage
