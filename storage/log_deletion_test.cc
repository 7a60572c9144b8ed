#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/file_checks.h"
#include "storage/log_fixture.h"
#include "storage/retention.h"

namespace barnabas::storage {
namespace {

using namespace test;
using ::testing::ElementsAre;

constexpr Offset all{1'000'000};

RetentionSegment segment(int64_t next_offset, uint64_t bytes, int64_t largest_timestamp) {
  return {.next_offset = Offset(next_offset),
          .size_bytes = bytes,
          .largest_timestamp = TimestampMs(largest_timestamp)};
}

TEST(RetentionPlan, old_segments_go_up_to_the_first_that_is_young_enough) {
  LogConfig config;
  config.retention_ms = 100;
  const RetentionSegment segments[] = {segment(10, 5, 800), segment(20, 5, 950), segment(30, 5, 800),
                                       segment(40, 5, 990)};
  EXPECT_EQ(plan_retention(segments, config, Offset{0}, all, TimestampMs{1'000}).segments, 1u);
  EXPECT_EQ(plan_retention(segments, config, Offset{0}, all, TimestampMs{1'050}).segments, 1u)
      << "exactly at the limit stays";
  EXPECT_EQ(plan_retention(segments, config, Offset{0}, all, TimestampMs{1'051}).segments, 3u);
  EXPECT_EQ(plan_retention(segments, config, Offset{0}, all, TimestampMs{9'999}).segments, 4u)
      << "the active one too";
  config.retention_ms = -1;
  EXPECT_EQ(plan_retention(segments, config, Offset{0}, all, TimestampMs{9'999}).segments, 0u);
}

TEST(RetentionPlan, size_leaves_at_least_retention_bytes) {
  LogConfig config;
  config.retention_ms = -1;
  const RetentionSegment segments[] = {segment(10, 30, 1), segment(20, 30, 1), segment(30, 30, 1),
                                       segment(40, 10, 1)};
  for (auto [bytes, expected] : std::vector<std::pair<int64_t, std::size_t>>{
           {100, 0}, {71, 0}, {70, 1}, {41, 1}, {40, 2}, {10, 3}, {9, 3}, {0, 4}, {-1, 0}}) {
    config.retention_bytes = bytes;
    EXPECT_EQ(plan_retention(segments, config, Offset{0}, all, TimestampMs{0}).segments, expected) << bytes;
  }
}

TEST(RetentionPlan, times_in_the_future_do_not_stop_retention_by_size) {
  LogConfig config;
  config.retention_ms = 100;
  config.retention_bytes = 10;
  const RetentionSegment segments[] = {segment(10, 10, 4'102'444'800'000),
                                       segment(20, 10, 4'102'444'800'000)};
  EXPECT_EQ(plan_retention(segments, config, Offset{0}, all, TimestampMs{1'000}).segments, 1u);
}

TEST(RetentionPlan, segments_below_the_log_start_go_in_compacted_logs_too) {
  LogConfig config;
  config.cleanup_delete = false;
  config.retention_bytes = 0;
  const RetentionSegment segments[] = {segment(10, 5, 1), segment(20, 5, 1), segment(30, 5, 1)};
  const auto plan = plan_retention(segments, config, Offset{20}, all, TimestampMs{9'999'999});
  EXPECT_EQ(plan.segments, 2u);
  EXPECT_EQ(plan.reason, RetentionPlan::Reason::log_start_offset);
  EXPECT_EQ(plan_retention(segments, config, Offset{30}, all, TimestampMs{9'999'999}).segments, 2u)
      << "not the active one";
}

TEST(RetentionPlan, nothing_above_the_high_watermark_goes) {
  LogConfig config;
  config.retention_ms = 0;
  config.retention_bytes = 0;
  const RetentionSegment segments[] = {segment(10, 5, 1), segment(20, 5, 1), segment(20, 0, 1)};
  EXPECT_EQ(plan_retention(segments, config, Offset{0}, Offset{19}, TimestampMs{1'000}).segments, 1u);
  EXPECT_EQ(plan_retention(segments, config, Offset{0}, Offset{20}, TimestampMs{1'000}).segments, 2u)
      << "an empty active segment stays";
}

class LogDeletionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto size = static_cast<int32_t>(batch(1).size());
    log.config.segment_bytes = 3 * size;
    log.config.index_interval_bytes = 0;
    log.config.retention_ms = -1;
    log.open();
  }
  void fill(int batches) {
    for (int i = 0; i < batches; ++i) log.append(batch(1));
  }
  std::vector<int64_t> bases() {
    std::vector<int64_t> found;
    for (const SegmentInfo& one : log.log->segments()) found.push_back(one.base_offset.value());
    return found;
  }
  RetentionResult retain(int64_t bytes) {
    LogConfig config = log.config;
    config.retention_bytes = bytes;
    log.log->set_config(std::make_shared<LogConfig>(config));
    auto result = log.log->apply_retention(log.now, log.end());
    EXPECT_TRUE(result) << result.error().message;
    return result.value_or(RetentionResult{});
  }
  TestLog log;
};

TEST_F(LogDeletionTest, retention_renames_first_and_the_caller_removes_later) {
  fill(7);
  const uint64_t segment_bytes = log.log->segments()[0].size_bytes;
  const RetentionResult result = retain(static_cast<int64_t>(log.log->size_bytes() - 2 * segment_bytes));
  EXPECT_EQ(result.segments_deleted, 2);
  EXPECT_EQ(result.bytes_deleted, 2 * segment_bytes);
  EXPECT_THAT(bases(), ElementsAre(6));
  EXPECT_EQ(log.start(), Offset{6});
  const auto files = log.log->take_deleted_files();
  EXPECT_EQ(files.size(), 6u);
  for (const std::string& path : files) {
    EXPECT_TRUE(path.ends_with(".deleted"));
    EXPECT_TRUE(log.disk.exists(path).value());
  }
  EXPECT_TRUE(log.log->take_deleted_files().empty());
}

TEST_F(LogDeletionTest, a_reader_keeps_what_is_deleted_under_it) {
  fill(7);
  const auto result = log.log->read(Offset{0}, 1 << 20, log.end(), true);
  retain(0);
  for (const std::string& path : log.log->take_deleted_files()) ASSERT_TRUE(log.disk.remove(path));
  EXPECT_EQ(protocol::RecordBatchView::parse(log.bytes_of(*result))->base_offset(), Offset{0});
  EXPECT_EQ(log.log->read(Offset{0}, 1 << 20, log.end(), true).error().kind, ErrorKind::out_of_range);
}

TEST_F(LogDeletionTest, all_may_go_and_offsets_go_on) {
  fill(7);
  retain(0);
  EXPECT_EQ(log.log->size_bytes(), 0u);
  EXPECT_EQ(log.start(), Offset{7});
  EXPECT_EQ(log.append(batch(1)).base_offset, Offset{7});
  log.reopen();
  EXPECT_EQ(log.start(), Offset{7});
  EXPECT_EQ(log.end(), Offset{8});
}

TEST_F(LogDeletionTest, leftovers_of_a_deletion_go_when_the_log_is_opened) {
  fill(7);
  retain(0);
  log.crash();
  for (const std::string& path : log.disk.all_files()) EXPECT_FALSE(path.ends_with(".deleted")) << path;
  EXPECT_EQ(log.end(), Offset{7});
}

TEST_F(LogDeletionTest, retention_goes_on_when_the_disk_is_full) {
  fill(7);
  log.flush();
  log.disk.set_capacity(0);
  EXPECT_EQ(log.try_append(batch(1)).error().kind, ErrorKind::no_space);
  retain(0);
  EXPECT_THAT(bases(), ElementsAre(6));
  log.disk.set_capacity(1 << 20);
  EXPECT_EQ(log.append(batch(1)).base_offset, Offset{7});
}

TEST_F(LogDeletionTest, delete_records_moves_the_log_start_up_only) {
  fill(7);
  EXPECT_EQ(log.log->delete_records_before(Offset{4}).value(), Offset{4});
  EXPECT_EQ(log.log->delete_records_before(Offset{2}).value(), Offset{4});
  EXPECT_EQ(log.log->delete_records_before(Offset{8}).error().kind, ErrorKind::out_of_range);
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{4, 5, 6}));
  EXPECT_EQ(retain(-1).segments_deleted, 1);
  EXPECT_THAT(bases(), ElementsAre(3, 6));
  EXPECT_EQ(log.start(), Offset{4});
  log.checkpoint();
  log.crash();
  EXPECT_EQ(log.start(), Offset{4});
}

TEST_F(LogDeletionTest, deleting_all_records_leaves_the_end_where_it_is) {
  fill(7);
  ASSERT_TRUE(log.log->delete_records_before(Offset{7}));
  EXPECT_TRUE(log.offsets().empty());
  log.checkpoint();
  log.crash();
  EXPECT_EQ(log.start(), Offset{7});
  EXPECT_EQ(log.append(batch(1)).base_offset, Offset{7});
}

TEST_F(LogDeletionTest, a_log_that_ends_below_its_checkpointed_start_begins_anew_there) {
  fill(4);
  log.log_start = Offset{100};
  log.crash();
  EXPECT_EQ(log.start(), Offset{100});
  EXPECT_EQ(log.append(batch(1)).base_offset, Offset{100});
}

TEST_F(LogDeletionTest, truncation_drops_whole_batches_and_segments) {
  for (int i = 0; i < 4; ++i) {
    log.epoch = LeaderEpoch(i);
    log.append(batch(1));
    log.append(batch(2));
  }
  ASSERT_EQ(log.end(), Offset{12});
  log.flush();
  ASSERT_TRUE(log.log->truncate_to(Offset{5}));
  EXPECT_EQ(log.end(), Offset{5});
  EXPECT_EQ(log.log->recovery_point(), Offset{5});
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{0, 1, 2, 3}))
      << "the batch that contains the offset goes as a whole";
  EXPECT_EQ(log.log->latest_epoch(), LeaderEpoch{1});
  EXPECT_EQ(log.append(batch(1)).base_offset, Offset{5});
  log.checkpoint();
  log.crash();
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{0, 1, 2, 3, 5}));
  check_indexes(log.disk, TestLog::directory);
}

TEST_F(LogDeletionTest, truncation_at_every_offset_leaves_what_is_below) {
  for (int64_t to = 0; to <= 9; ++to) {
    TestLog one;
    one.config = log.config;
    one.open();
    for (int i = 0; i < 8; ++i) one.append(batch(1));
    ASSERT_TRUE(one.log->truncate_to(Offset(to)));
    EXPECT_EQ(one.end(), Offset(std::min<int64_t>(to, 8)));
    EXPECT_EQ(static_cast<int64_t>(one.offsets().size()), std::min<int64_t>(to, 8));
    one.append(batch(1));
    one.reopen();
    EXPECT_EQ(one.end(), Offset(std::min<int64_t>(to, 8) + 1));
    check_indexes(one.disk, TestLog::directory);
  }
}

TEST_F(LogDeletionTest, a_log_can_begin_anew_at_any_offset) {
  fill(7);
  ASSERT_TRUE(log.log->truncate_fully_and_start_at(Offset{50}));
  EXPECT_EQ(log.start(), Offset{50});
  EXPECT_EQ(log.end(), Offset{50});
  EXPECT_EQ(log.append(batch(1)).base_offset, Offset{50});
  log.checkpoint();
  log.crash();
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{50}));
}

TEST_F(LogDeletionTest, a_finished_compaction_takes_the_place_of_its_segments) {
  fill(7);
  ASSERT_TRUE(log.log->close_clean());
  log.checkpoint();
  log.log.reset();
  // Segments 0 and 3 were compacted into one that has the batches of offsets 1 and 5.
  const std::size_t size = batch(1).size();
  const std::string first = *log.disk.content(log.path(Offset{0}, ".log"));
  const std::string second = *log.disk.content(log.path(Offset{3}, ".log"));
  log.disk.put_file(log.path(Offset{0}, ".log.swap"),
                    first.substr(size, size) + second.substr(2 * size, size));
  log.disk.put_file(log.path(Offset{0}, ".index.swap"), "");
  log.disk.put_file(log.path(Offset{0}, ".timeindex.swap"), "");
  log.config.cleanup_compact = true;
  log.open();
  EXPECT_THAT(bases(), ElementsAre(0, 6));
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{1, 5, 6}));
}

TEST_F(LogDeletionTest, an_unfinished_compaction_leaves_no_trace) {
  fill(7);
  log.log.reset();
  log.disk.put_file(log.path(Offset{0}, ".log.cleaned"), "anything");
  log.disk.put_file(log.path(Offset{3}, ".log.swap"), "anything");
  log.disk.put_file(log.path(Offset{77}, ".index"), "orphan");
  log.open();
  EXPECT_EQ(log.offsets().size(), 7u);
  for (const std::string& path : log.disk.all_files()) {
    EXPECT_FALSE(path.ends_with(".cleaned") || path.ends_with(".swap")) << path;
    EXPECT_EQ(path.find("077.index"), std::string::npos);
  }
}

TEST_F(LogDeletionTest, whatever_lies_behind_damage_goes) {
  fill(7);
  log.log.reset();
  std::string content = *log.disk.content(log.path(Offset{0}, ".log"));
  content.back() = static_cast<char>(content.back() ^ 1);
  log.disk.put_file(log.path(Offset{0}, ".log"), content);
  log.open();
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(log.log->recovery().segments_removed, 2);
  EXPECT_FALSE(log.log->recovery().lossless());
}

}  // namespace
}  // namespace barnabas::storage
