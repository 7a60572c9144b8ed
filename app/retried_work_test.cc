#include "app/retried_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

namespace barnabas::app {
namespace {

class RetriedWorkTest : public ::testing::Test {
 protected:
  /// Fills the pool: one runs, and one waits.
  void fill() {
    std::latch runs(1);
    ASSERT_TRUE(pool_.submit([this, &runs] {
      runs.count_down();
      go_on_.wait();
    }));
    runs.wait();
    ASSERT_TRUE(pool_.submit([] {}));
  }

  std::latch go_on_{1};
  std::atomic<int> done_ = 0;
  io::DiskPool pool_{{.name = "disk", .threads = 1, .queue_max = 1}};
  RetriedWork work_{pool_};
};

TEST_F(RetriedWorkTest, what_the_pool_takes_is_done_once) {
  work_.submit("stores", [this] { ++done_; });
  work_.retry();
  go_on_.count_down();
  pool_.shut_down();
  EXPECT_EQ(done_, 1);
}

TEST_F(RetriedWorkTest, what_the_pool_refuses_is_done_later_and_of_each_kind_the_newest) {
  fill();
  std::atomic<int> other = 0;
  work_.submit("stores", [this] { done_ = 1; });
  work_.submit("names", [&] { ++other; });
  work_.submit("stores", [this] { done_ = 2; });
  work_.retry();  // still full
  go_on_.count_down();
  for (int i = 0; (done_ == 0 || other == 0) && i < 20'000; ++i) {
    work_.retry();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  work_.retry();
  pool_.shut_down();
  EXPECT_EQ(done_, 2);
  EXPECT_EQ(other, 1);
}

TEST_F(RetriedWorkTest, pool_that_has_ended_drops_it) {
  go_on_.count_down();
  pool_.shut_down();
  work_.submit("stores", [this] { ++done_; });
  work_.retry();
  EXPECT_EQ(done_, 0);
}

}  // namespace
}  // namespace barnabas::app
