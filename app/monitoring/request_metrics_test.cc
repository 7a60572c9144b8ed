#include "app/monitoring/request_metrics.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace barnabas::app {
namespace {

using namespace std::chrono_literals;

/// Stages of 1, 2, 4, 8 and 16 ms.
network::RequestTimes times() {
  network::RequestTimes result;
  result.received = Instant(1s);
  result.started = result.received + 1ms;
  result.handled = result.started + 2ms;
  result.answered = result.handled + 4ms;
  result.taken = result.answered + 8ms;
  result.sent = result.taken + 16ms;
  return result;
}

double seconds(const RequestMetrics::OfApi& api, RequestStage stage) {
  return api.stages[static_cast<std::size_t>(stage)].sum_seconds();
}

TEST(RequestMetrics, stages_add_up_to_the_total) {
  RequestMetrics metrics(1);
  metrics.record(0, 1, times(), 0ms);
  const auto all = metrics.snapshot();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].api, 1);
  EXPECT_EQ(all[0].total.count(), 1u);
  EXPECT_DOUBLE_EQ(all[0].total.sum_seconds(), 0.031);
  EXPECT_DOUBLE_EQ(seconds(all[0], RequestStage::queue), 0.001);
  EXPECT_DOUBLE_EQ(seconds(all[0], RequestStage::local), 0.002);
  EXPECT_DOUBLE_EQ(seconds(all[0], RequestStage::remote), 0.004);
  EXPECT_DOUBLE_EQ(seconds(all[0], RequestStage::response_queue), 0.008);
  EXPECT_DOUBLE_EQ(seconds(all[0], RequestStage::send), 0.016);
  EXPECT_EQ(all[0].throttle.count(), 0u);
}

TEST(RequestMetrics, an_answer_inside_the_handler_waited_for_nothing) {
  RequestMetrics metrics(1);
  auto immediate = times();
  immediate.handled = immediate.answered + 5ms;  // the handler cleaned up
  metrics.record(0, 18, immediate, 0ms);
  const auto all = metrics.snapshot();
  EXPECT_DOUBLE_EQ(seconds(all[0], RequestStage::local), 0.006);
  EXPECT_DOUBLE_EQ(seconds(all[0], RequestStage::remote), 0);
}

TEST(RequestMetrics, adds_up_what_loops_saw_at_the_same_time) {
  constexpr std::size_t loops = 4;
  RequestMetrics metrics(loops);
  {
    std::vector<std::jthread> threads;
    for (std::size_t loop = 0; loop < loops; ++loop)
      threads.emplace_back([&metrics, loop] {
        for (int i = 0; i < 1000; ++i) metrics.record(loop, 0, times(), i % 2 == 0 ? 3ms : 0ms);
      });
    for (int i = 0; i < 100; ++i) (void)metrics.snapshot();
  }
  const auto all = metrics.snapshot();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].total.count(), 4000u);
  EXPECT_EQ(all[0].throttle.count(), 2000u);
}

TEST(RequestMetrics, ignores_what_is_no_api_of_ours) {
  RequestMetrics metrics(1);
  metrics.record(0, -1, times(), 0ms);
  metrics.record(0, 12345, times(), 0ms);
  metrics.record(7, 1, times(), 0ms);
  EXPECT_TRUE(metrics.snapshot().empty());
}

}  // namespace
}  // namespace barnabas::app
