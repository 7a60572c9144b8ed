#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace barnabas::metrics {

/// How long things took, counted in fine steps (each at most half as large again as the one before), so that
/// quantiles can be told; what is shown has few buckets.
class LatencySnapshot {
 public:
  /// Upper bounds of the steps, in microseconds; what is longer is counted behind the last one.
  static constexpr auto bounds = [] {
    constexpr std::array<uint64_t, 9> decade = {10, 15, 20, 25, 30, 40, 50, 65, 80};
    std::array<uint64_t, decade.size() * 6 + 1> result{};
    std::size_t at = 0;
    uint64_t scale = 1;
    for (int tenfold = 0; tenfold < 6; ++tenfold, scale *= 10)
      for (const uint64_t bound : decade) result[at++] = bound * scale;
    result[at] = 10'000'000;
    return result;
  }();
  /// Seconds; each is one of `bounds`.
  static constexpr std::array shown_bounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                              0.05,   0.1,     0.25,   0.5,   1.0,    2.5,   5.0,  10.0};

  uint64_t count() const { return count_; }
  double sum_seconds() const { return static_cast<double>(sum_ns_) / 1e9; }
  /// How many took at most so long; `bound` is one of shown_bounds.
  uint64_t count_up_to(double bound) const;
  /// Seconds below which a share of all were, between the bounds of a step; 0 when there are none.
  double quantile(double share) const;
  LatencySnapshot& operator+=(const LatencySnapshot& more);
  /// What came since `before`, an earlier snapshot of the same.
  LatencySnapshot since(const LatencySnapshot& before) const;

 private:
  friend class LatencyHistogram;
  std::array<uint64_t, bounds.size() + 1> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ns_ = 0;
};

/// Written by one thread without locked instructions; read by any.
class LatencyHistogram {
 public:
  void observe(std::chrono::nanoseconds time);
  LatencySnapshot snapshot() const;

 private:
  using Cell = std::atomic<uint64_t>;
  static void add(Cell& cell, uint64_t amount) {
    cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  std::array<Cell, LatencySnapshot::bounds.size() + 1> counts_{};
  Cell sum_ns_{0};
};

}  // namespace barnabas::metrics
