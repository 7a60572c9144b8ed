#include "metrics/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace barnabas::metrics {
namespace {

std::size_t step_of(uint64_t microseconds) {
  const auto& bounds = LatencySnapshot::bounds;
  return static_cast<std::size_t>(std::ranges::lower_bound(bounds, microseconds) - bounds.begin());
}

}  // namespace

uint64_t LatencySnapshot::count_up_to(double bound) const {
  const std::size_t last = step_of(static_cast<uint64_t>(std::llround(bound * 1e6)));
  uint64_t result = 0;
  for (std::size_t i = 0; i <= last; ++i) result += counts_[i];
  return result;
}

double LatencySnapshot::quantile(double share) const {
  if (count_ == 0) return 0;
  const double wanted = share * static_cast<double>(count_);
  double below = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const auto here = static_cast<double>(counts_[i]);
    if (here > 0 && below + here >= wanted) {
      const double from = i == 0 ? 0 : static_cast<double>(bounds[i - 1]);
      const double to = static_cast<double>(bounds[i]);
      return (from + (to - from) * (wanted - below) / here) / 1e6;
    }
    below += here;
  }
  return static_cast<double>(bounds.back()) / 1e6;
}

LatencySnapshot& LatencySnapshot::operator+=(const LatencySnapshot& more) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += more.counts_[i];
  count_ += more.count_;
  sum_ns_ += more.sum_ns_;
  return *this;
}

LatencySnapshot LatencySnapshot::since(const LatencySnapshot& before) const {
  LatencySnapshot result = *this;
  for (std::size_t i = 0; i < counts_.size(); ++i) result.counts_[i] -= before.counts_[i];
  result.count_ -= before.count_;
  result.sum_ns_ -= before.sum_ns_;
  return result;
}

void LatencyHistogram::observe(std::chrono::nanoseconds time) {
  const auto ns = static_cast<uint64_t>(std::max<int64_t>(time.count(), 0));
  // Rounded up: what took longer than a bound must not be counted as within it.
  add(counts_[step_of((ns + 999) / 1000)], 1);
  add(sum_ns_, ns);
}

LatencySnapshot LatencyHistogram::snapshot() const {
  LatencySnapshot result;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    result.counts_[i] = counts_[i].load(std::memory_order_relaxed);
    result.count_ += result.counts_[i];
  }
  result.sum_ns_ = sum_ns_.load(std::memory_order_relaxed);
  return result;
}

}  // namespace barnabas::metrics
