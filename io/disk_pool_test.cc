#include "io/disk_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>

namespace barnabas::io {
namespace {

TEST(DiskPool, runs_everything_before_it_is_shut_down) {
  std::atomic<int> done = 0;
  DiskPool pool({.name = "test", .threads = 3, .queue_max = 2000});
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(pool.submit([&] { ++done; }));
  pool.shut_down();
  EXPECT_EQ(done, 1000);
  EXPECT_FALSE(pool.submit([&] { ++done; }));
  pool.shut_down();
  EXPECT_EQ(done, 1000);
}

TEST(DiskPool, one_thread_keeps_the_order) {
  std::string order;
  DiskPool pool({.name = "test", .threads = 1});
  for (char letter = 'a'; letter <= 'z'; ++letter)
    EXPECT_TRUE(pool.submit([&order, letter] { order += letter; }));
  pool.shut_down();
  EXPECT_EQ(order, "abcdefghijklmnopqrstuvwxyz");
}

TEST(DiskPool, refuses_work_above_its_bound) {
  std::promise<void> gate;
  std::promise<void> started;
  DiskPool pool({.name = "test", .threads = 1, .queue_max = 2});
  ASSERT_TRUE(pool.submit([&] {
    started.set_value();
    gate.get_future().wait();
  }));
  started.get_future().wait();
  EXPECT_TRUE(pool.submit([] {}));
  EXPECT_TRUE(pool.submit([] {}));
  EXPECT_FALSE(pool.submit([] {}));
  EXPECT_EQ(pool.waiting(), 2U);
  gate.set_value();
}

TEST(DiskPool, threads_carry_names) {
  std::array<char, 16> name{};
  DiskPool pool({.name = "test", .threads = 1});
  std::promise<void> named;
  ASSERT_TRUE(pool.submit([&] { named.get_future().wait(); }));
  named.set_value();
  ASSERT_TRUE(pool.submit([&] { ::pthread_getname_np(::pthread_self(), name.data(), name.size()); }));
  pool.shut_down();
  EXPECT_STREQ(name.data(), "test-0");
}

TEST(DiskPool, work_may_submit_work_and_own_what_cannot_be_copied) {
  std::promise<int> result;
  DiskPool pool({.name = "test", .threads = 2});
  ASSERT_TRUE(pool.submit([&pool, &result, number = std::make_unique<int>(7)]() mutable {
    EXPECT_TRUE(pool.submit([&result, inner = std::move(number)] { result.set_value(*inner); }));
  }));
  EXPECT_EQ(result.get_future().get(), 7);
}

}  // namespace
}  // namespace barnabas::io
