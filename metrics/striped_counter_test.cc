#include "metrics/striped_counter.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace barnabas::metrics {
namespace {

TEST(StripedCounters, lose_nothing_of_what_threads_add_at_once) {
  StripedCounters<2> counters;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 50; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 1000; ++n) {
          counters.add(0, 1);
          counters.add(1, 3);
        }
      });
  }
  EXPECT_EQ(counters.value(0), 50'000u);
  EXPECT_EQ(counters.value(1), 150'000u);
}

}  // namespace
}  // namespace barnabas::metrics
