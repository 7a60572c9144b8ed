#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace barnabas::storage {

enum class PeriodicJob : uint8_t {
  flush,
  retention,
  recovery_point_checkpoint,
  start_offset_checkpoint,
  high_watermark_checkpoint,
  producer_expiry,
};

/// Which regular jobs are due. Pure: time comes in as an argument, and a job that was late is not made up
/// for.
class PeriodicSchedule {
 public:
  /// The first time is one interval after `begin`; an interval of milliseconds::max() is never.
  void add(PeriodicJob job, std::chrono::milliseconds interval, Instant begin);
  bool empty() const { return entries_.empty(); }

  /// The jobs whose time has come, in the order in which they were added; each is due again an interval after
  /// `now`.
  std::vector<PeriodicJob> take_due(Instant now);
  /// When the next one is due; Instant::max() when none ever is.
  Instant next() const;

 private:
  struct Entry {
    PeriodicJob job;
    std::chrono::milliseconds interval;
    Instant next;
  };
  static Instant after(Instant begin, std::chrono::milliseconds interval);

  std::vector<Entry> entries_;
};

}  // namespace barnabas::storage
