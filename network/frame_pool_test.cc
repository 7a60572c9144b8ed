#include "network/frame_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace barnabas::network {
namespace {

void fill(FramePool& pool, Frame& frame) {
  std::memset(frame.mutable_bytes().data(), 1, frame.size());
  pool.charge(frame, static_cast<uint32_t>(frame.size()));
}

TEST(FramePool, budget_counts_what_arrived_until_the_frame_is_gone) {
  MemoryBudget budget;
  FramePool pool(budget);
  for (const uint32_t size : {1u, 32u << 10, (32u << 10) + 1, 1u << 20, 100u << 20}) {
    auto frame = pool.allocate(size);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->size(), size);
    EXPECT_EQ(budget.used(), 0u);
    pool.charge(*frame, 1);
    pool.charge(*frame, size - 1);
    EXPECT_EQ(budget.used(), size);
    Frame moved = std::move(*frame);
    frame.reset();
    EXPECT_EQ(budget.used(), size);
    moved = Frame();
    EXPECT_EQ(budget.used(), 0u);
  }
}

TEST(FramePool, block_of_a_large_frame_is_used_again_and_given_back_when_unused) {
  MemoryBudget budget;
  FramePool pool(budget);
  const std::byte* first = nullptr;
  for (int i = 0; i < 10; ++i) {
    Frame frame = std::move(*pool.allocate(1'000'000));
    if (i == 0) first = frame.bytes().data();
    EXPECT_EQ(frame.bytes().data(), first);
    fill(pool, frame);
  }
  EXPECT_EQ(pool.retained_bytes(), 1'000'000u);
  pool.trim();
  EXPECT_EQ(pool.retained_bytes(), 1'000'000u);
  pool.trim();
  EXPECT_EQ(pool.retained_bytes(), 0u);
}

TEST(FramePool, retained_memory_is_bounded) {
  MemoryBudget budget;
  FramePool pool(budget);
  std::vector<Frame> frames;
  for (int i = 0; i < 100; ++i) {
    frames.push_back(std::move(*pool.allocate(1'000'000)));
    fill(pool, frames.back());
  }
  frames.clear();
  EXPECT_LE(pool.retained_bytes(), FramePool::retained_max);
  EXPECT_GT(pool.retained_bytes(), FramePool::retained_max / 2);
}

TEST(FramePool, frames_may_be_destroyed_on_any_thread) {
  MemoryBudget budget;
  FramePool pool(budget);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool] {
      for (uint32_t i = 0; i < 200; ++i) {
        Frame frame = std::move(*pool.allocate(1000 + i * 3000));
        fill(pool, frame);
        std::thread([gone = std::move(frame)] {}).join();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(budget.used(), 0u);
}

TEST(FramePool, copy_belongs_to_no_pool) {
  const std::string text = "abc";
  const Frame frame = Frame::copy_of(as_byte_view(text));
  EXPECT_EQ(as_text(frame.bytes()), "abc");
  EXPECT_EQ(Frame::copy_of({}).size(), 0u);
  EXPECT_TRUE(Frame().bytes().empty());
}

TEST(MemoryBudget, waiters_are_called_once_when_there_is_room) {
  MemoryBudget budget;
  budget.set_limit(10);
  int called = 0;
  budget.when_available([&] { ++called; });
  EXPECT_EQ(called, 1);
  budget.add(15);
  EXPECT_TRUE(budget.exhausted());
  budget.when_available([&] { ++called; });
  budget.remove(5, 0);
  EXPECT_EQ(called, 1);
  budget.remove(1, 0);
  EXPECT_EQ(called, 2);
  budget.remove(9, 0);
  EXPECT_EQ(called, 2);
}

TEST(MemoryBudget, overdraft_waits_until_complete_requests_are_few) {
  MemoryBudget budget;
  budget.set_limit(10);
  budget.add(12);
  EXPECT_TRUE(budget.may_overdraw());
  budget.complete(6);
  EXPECT_FALSE(budget.may_overdraw());
  int called = 0;
  budget.when_overdraft_possible([&] { ++called; });
  budget.remove(1, 1);
  EXPECT_EQ(called, 0);
  budget.remove(1, 1);
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(budget.exhausted());
}

}  // namespace
}  // namespace barnabas::network
