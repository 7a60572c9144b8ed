#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/types.h"
#include "storage/cleaner_rules.h"
#include "storage/offset_map.h"

namespace barnabas::storage {

/// What a thread needs to compact logs, one after the other.
struct CleaningTools {
  OffsetMap& keys;
  std::size_t read_buffer_bytes = 256 << 10;
  std::size_t write_buffer_bytes = 256 << 10;
  /// Told of bytes that were read or written, at least once a buffer; may wait. False: stop.
  std::function<bool(uint64_t bytes)> go_on = [](uint64_t) { return true; };
  /// Called before the first segments are replaced: the recovery point of the log must be in its checkpoint
  /// file when this returns. Without it, gaps that compaction leaves could look like lost writes after a
  /// crash, once the topic is no compacted one any more.
  std::function<Result<void>()> before_replacing = [] { return Result<void>{}; };
};

/// What one pass over a log did.
struct CleaningResult {
  /// It was told to stop, or the log was cut or its segments deleted meanwhile: what was done stays, the rest
  /// comes again.
  bool interrupted = false;
  Offset cleaned_to{0};  ///< where the next one begins
  bool map_was_full = false;
  uint64_t keys = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t bytes_before = 0;  ///< of the segments that were gone through
  uint64_t bytes_after = 0;   ///< of what took their place
  uint64_t segments_before = 0;
  uint64_t segments_after = 0;
};

}  // namespace barnabas::storage
