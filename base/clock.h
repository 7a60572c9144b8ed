#pragma once

#include <chrono>

#include "base/types.h"

namespace barnabas {

/// Monotonic time, for deadlines and durations.
using Instant = std::chrono::steady_clock::time_point;

inline TimestampMs wall_clock_now() {
  using namespace std::chrono;
  return TimestampMs(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

}  // namespace barnabas
