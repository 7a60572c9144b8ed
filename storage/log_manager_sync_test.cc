// Many logs at once: one sync of the file system stands for several of each log.

#include <gtest/gtest.h>

#include <cerrno>

#include "storage/clean_shutdown.h"
#include "storage/log_manager_directory.h"
#include "storage/log_manager_test_support.h"

namespace barnabas::storage {
namespace {

class ManyLogsTest : public testing::Test {
 protected:
  static constexpr int count = static_cast<int>(sync_together_from) * 2 + 10;

  void start_with_dirty_logs() {
    ASSERT_TRUE(node_.start());
    for (int i = 0; i < count; ++i) {
      const auto made =
          node_->create(partition("t", i), {.topic_id = Uuid::random(), .directory_id = {}}, node_.wall);
      ASSERT_TRUE(made);
      ASSERT_TRUE(append(**made, value(i), node_.wall));
    }
    disk_.reset_counters();
  }
  static std::string value(int i) { return "value " + std::to_string(i); }
  void expect_all(const std::string& when) {
    for (int i = 0; i < count; ++i) {
      const auto log = node_->get(partition("t", i));
      ASSERT_TRUE(log) << when << log.error().message;
      ASSERT_EQ(values_of(**log), std::vector{value(i)}) << when << i;
      ASSERT_GE((*log)->recovery_point(), Offset{1}) << when;
    }
  }
  bool is_marked_clean(const std::string& path) {
    return disk_.exists(path + "/" + std::string(clean_shutdown_name)).value();
  }

  io::FakeDisk disk_;
  NodeStorage node_{disk_, {"/a", "/b"}};
};

TEST_F(ManyLogsTest, are_closed_with_a_sync_for_each_directory) {
  start_with_dirty_logs();
  ASSERT_TRUE(node_.stop());
  EXPECT_EQ(disk_.calls(io::DiskCall::sync_file_system), 2U);
  EXPECT_LT(disk_.calls(io::DiskCall::sync_data), 20U);
  disk_.power_cut();
  const auto started = node_.start();
  ASSERT_TRUE(started);
  EXPECT_EQ(started->recovered, 0U);
  expect_all("after a clean stop: ");
}

TEST_F(ManyLogsTest, are_recovered_with_a_sync_for_each_directory) {
  start_with_dirty_logs();
  node_.crash();
  disk_.reset_counters();
  ASSERT_TRUE(node_.start());
  EXPECT_EQ(disk_.calls(io::DiskCall::sync_file_system), 2U);
  EXPECT_LT(disk_.calls(io::DiskCall::sync_data), 20U);
  expect_all("after a crash: ");
  node_.crash();
  disk_.power_cut();
  ASSERT_TRUE(node_.start());
  expect_all("what was shown survives the power: ");
}

TEST_F(ManyLogsTest, are_not_clean_when_that_sync_fails) {
  start_with_dirty_logs();
  disk_.add_fault({.call = io::DiskCall::sync_file_system, .path_part = "/a"});
  EXPECT_FALSE(node_.stop());
  EXPECT_EQ(disk_.calls(io::DiskCall::sync_file_system), 2U) << "nobody tries again";
  EXPECT_FALSE(is_marked_clean("/a"));
  EXPECT_TRUE(is_marked_clean("/b"));
}

TEST_F(ManyLogsTest, keep_all_that_was_durable_when_the_power_goes_while_they_are_closed) {
  uint64_t calls = 0;
  {
    start_with_dirty_logs();
    ASSERT_TRUE(node_.stop());
    calls = disk_.calls();
  }
  for (uint64_t nth = 1; nth <= calls; nth += 1 + nth % 37) {
    io::FakeDisk disk;
    NodeStorage node(disk, {"/a", "/b"});
    ASSERT_TRUE(node.start());
    for (int i = 0; i < count; ++i) {
      const auto made =
          node->create(partition("t", i), {.topic_id = Uuid::random(), .directory_id = {}}, node.wall);
      ASSERT_TRUE(made && append(**made, value(i), node.wall) && (*made)->flush());
      ASSERT_TRUE(append(**made, "unsynced", node.wall));
    }
    disk.power_off_at(nth);
    (void)node.stop();
    disk.power_cut(io::Unsynced::partly_kept, nth);
    ASSERT_TRUE(node.start()) << nth;
    for (int i = 0; i < count; ++i) {
      const auto log = node->get(partition("t", i));
      ASSERT_TRUE(log) << nth;
      const auto values = values_of(**log);
      ASSERT_FALSE(values.empty()) << nth;
      ASSERT_EQ(values.front(), value(i)) << nth;
    }
  }
}

}  // namespace
}  // namespace barnabas::storage
