#include "metrics/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace barnabas::metrics {
namespace {

using namespace std::chrono_literals;

TEST(LatencyHistogram, counts_and_sums_what_it_saw) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.snapshot().count(), 0u);
  histogram.observe(90us);
  histogram.observe(100us);
  histogram.observe(101us);
  histogram.observe(3s);
  const auto seen = histogram.snapshot();
  EXPECT_EQ(seen.count(), 4u);
  EXPECT_DOUBLE_EQ(seen.sum_seconds(), 3.000291);
  EXPECT_EQ(seen.count_up_to(0.0001), 2u) << "a bound belongs to its bucket";
  EXPECT_EQ(seen.count_up_to(0.00025), 3u);
  EXPECT_EQ(seen.count_up_to(2.5), 3u);
  EXPECT_EQ(seen.count_up_to(5.0), 4u);
}

TEST(LatencyHistogram, does_not_count_a_nanosecond_too_much_as_within_a_bound) {
  LatencyHistogram histogram;
  histogram.observe(100'001ns);
  EXPECT_EQ(histogram.snapshot().count_up_to(0.0001), 0u);
}

TEST(LatencyHistogram, counts_what_is_longer_than_all_bounds_and_clocks_that_went_back) {
  LatencyHistogram histogram;
  histogram.observe(1h);
  histogram.observe(-5ms);
  const auto seen = histogram.snapshot();
  EXPECT_EQ(seen.count(), 2u);
  EXPECT_EQ(seen.count_up_to(10.0), 1u);
  EXPECT_DOUBLE_EQ(seen.sum_seconds(), 3600.0);
}

TEST(LatencyHistogram, each_shown_bound_is_one_of_those_that_are_counted) {
  for (const double shown : LatencySnapshot::shown_bounds)
    EXPECT_TRUE(std::ranges::binary_search(LatencySnapshot::bounds, static_cast<uint64_t>(shown * 1e6 + 0.5)))
        << shown;
  EXPECT_TRUE(std::ranges::is_sorted(LatencySnapshot::bounds));
}

TEST(LatencyHistogram, quantiles_lie_within_the_step_of_what_was_seen) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.snapshot().quantile(0.99), 0);
  for (int i = 0; i < 990; ++i) histogram.observe(1ms);
  for (int i = 0; i < 10; ++i) histogram.observe(800ms);
  const auto seen = histogram.snapshot();
  EXPECT_GT(seen.quantile(0.5), 0.0008);
  EXPECT_LE(seen.quantile(0.5), 0.001);
  EXPECT_LE(seen.quantile(0.99), 0.001);
  EXPECT_GT(seen.quantile(0.999), 0.65);
  EXPECT_LE(seen.quantile(0.999), 0.8);
}

TEST(LatencyHistogram, snapshots_add_up_and_tell_what_came_since) {
  LatencyHistogram histogram;
  histogram.observe(1ms);
  const auto before = histogram.snapshot();
  histogram.observe(2ms);
  auto both = before;
  both += histogram.snapshot().since(before);
  EXPECT_EQ(both.count(), 2u);
  EXPECT_DOUBLE_EQ(both.sum_seconds(), 0.003);
}

}  // namespace
}  // namespace barnabas::metrics
