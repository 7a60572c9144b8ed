#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace barnabas::storage {

/// Keeps the rate of something below a limit: says how long to wait after so much of it was done. Pure; what
/// was not used is not saved up.
class IoThrottle {
 public:
  /// A rate that is not above 0 counts as 1.
  explicit IoThrottle(double bytes_per_second) : bytes_per_second_(std::max(bytes_per_second, 1.0)) {}

  std::chrono::nanoseconds charge(uint64_t bytes, Instant now) {
    constexpr double longest_seconds = 86'400;
    const double seconds = std::min(static_cast<double>(bytes) / bytes_per_second_, longest_seconds);
    free_at_ = std::max(free_at_, now) + std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
    return free_at_ - now;
  }

 private:
  const double bytes_per_second_;
  Instant free_at_{};
};

}  // namespace barnabas::storage
