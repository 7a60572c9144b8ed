#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/file_checks.h"
#include "storage/log_fixture.h"

namespace barnabas::storage {
namespace {

using namespace test;
using ::testing::ElementsAre;

class SegmentTest : public ::testing::Test {
 protected:
  void open(int32_t index_interval_bytes = 0, int32_t segment_bytes = 1 << 30) {
    log.config.index_interval_bytes = index_interval_bytes;
    log.config.segment_bytes = segment_bytes;
    log.open();
  }
  BatchShape at(int64_t timestamp, int32_t records = 1) {
    return {.records = records, .timestamp = TimestampMs(timestamp), .timestamp_step = 0};
  }
  std::vector<OffsetIndexEntry> offset_entries(Offset base = Offset{0}) {
    return entries_of<OffsetIndexEntry>(*log.disk.content(log.path(base, ".index")));
  }
  std::vector<TimeIndexEntry> time_entries(Offset base = Offset{0}) {
    return entries_of<TimeIndexEntry>(*log.disk.content(log.path(base, ".timeindex")));
  }
  std::vector<int64_t> bases() {
    std::vector<int64_t> all;
    for (const SegmentInfo& segment : log.log->segments()) all.push_back(segment.base_offset.value());
    return all;
  }
  std::optional<int64_t> offset_at(int64_t timestamp) {
    const auto found = log.log->offset_for_timestamp(TimestampMs(timestamp));
    EXPECT_TRUE(found) << found.error().message;
    return *found ? std::optional((*found)->offset.value()) : std::nullopt;
  }
  TestLog log;
};

TEST_F(SegmentTest, index_entries_stand_at_batches_behind_each_interval) {
  open(/*index_interval_bytes=*/200);
  const auto size = static_cast<int32_t>(batch(2).size());
  ASSERT_GT(size, 100);
  ASSERT_LE(size, 200);
  for (int i = 0; i < 6; ++i) log.append(batch(2));
  log.reopen();
  EXPECT_THAT(offset_entries(), ElementsAre(OffsetIndexEntry{5, 2 * size}, OffsetIndexEntry{9, 4 * size}));
}

TEST_F(SegmentTest, the_time_index_holds_running_maxima_and_ends_with_the_largest) {
  open();
  for (int64_t timestamp : {100, 300, 200, 300, 400, 50}) log.append(batch(at(timestamp)));
  log.reopen();
  EXPECT_THAT(time_entries(),
              ElementsAre(TimeIndexEntry{TimestampMs{300}, 1}, TimeIndexEntry{TimestampMs{400}, 4}));
  check_indexes(log.disk, TestLog::directory);
}

TEST_F(SegmentTest, appending_after_a_restart_goes_on_with_the_indexes) {
  open();
  for (int i = 0; i < 5; ++i) log.append(batch(at(100 + i)));
  log.reopen();
  for (int i = 5; i < 9; ++i) log.append(batch(at(100 + i)));
  log.reopen();
  EXPECT_GE(offset_entries().size(), 7u);
  check_indexes(log.disk, TestLog::directory);
  EXPECT_EQ(offset_at(106), 6);
}

TEST_F(SegmentTest, long_indexes_are_written_in_pieces_and_searched_in_the_file) {
  open();
  for (int i = 0; i < 3'000; ++i) log.append(batch(at(1'000 + 10 * i)));
  EXPECT_EQ(offset_entries().size(), 2'560u) << "the newest are in memory";
  for (int i = 0; i < 3'000; i += 37) {
    const auto read = log.log->read(Offset(i), 1, log.end(), true);
    ASSERT_TRUE(read);
    EXPECT_EQ(protocol::RecordBatchView::parse(log.bytes_of(*read))->base_offset(), Offset(i));
    EXPECT_EQ(offset_at(1'000 + 10 * i), i);
    EXPECT_EQ(offset_at(1'000 + 10 * i - 9), i);
  }
  log.reopen();
  EXPECT_EQ(log.read_all(Offset{0}, log.end(), 5'000).size(), 3'000u);
  check_indexes(log.disk, TestLog::directory);
}

TEST_F(SegmentTest, missing_indexes_are_made_again) {
  open();
  for (int i = 0; i < 50; ++i) log.append(batch(at(100 + i)));
  ASSERT_TRUE(log.log->close_clean());
  log.checkpoint();
  log.log.reset();
  ASSERT_TRUE(log.disk.remove(log.path(Offset{0}, ".index")));
  ASSERT_TRUE(log.disk.remove(log.path(Offset{0}, ".timeindex")));
  log.open(/*clean=*/true);
  EXPECT_EQ(log.read_all(Offset{31}, log.end()).front().offset, Offset{31});
  EXPECT_EQ(offset_at(120), 20);
  log.reopen();
  check_indexes(log.disk, TestLog::directory);
}

TEST_F(SegmentTest, a_wrong_index_misleads_nobody) {
  open();
  for (int i = 0; i < 50; ++i) log.append(batch(at(100 + i)));
  ASSERT_TRUE(log.log->close_clean());
  log.checkpoint();
  log.log.reset();
  std::string wrong = *log.disk.content(log.path(Offset{0}, ".index"));
  for (std::size_t i = 7; i < wrong.size(); i += 8) wrong[i] = static_cast<char>(wrong[i] ^ 5);
  for (const std::string& content : {wrong, wrong.substr(0, 13), std::string(800, '\xff')}) {
    log.disk.put_file(log.path(Offset{0}, ".index"), content);
    log.open(/*clean=*/true);
    for (int64_t i = 0; i < 50; i += 7)
      EXPECT_EQ(log.read_all(Offset(i), Offset(i + 1)).front().offset, Offset(i));
    log.log.reset();
    log.disk.put_file(log.path(Offset{0}, ".index"), content);
    log.open(/*clean=*/true);
    EXPECT_EQ(log.read_all(Offset{0}, log.end(), 700).size(), 50u);
    log.log.reset();
  }
}

// Kafka allocates 10 MiB for an index and cuts it only when it stops cleanly.
TEST_F(SegmentTest, preallocated_indexes_are_taken_and_cut) {
  open();
  for (int i = 0; i < 50; ++i) log.append(batch(at(100 + i)));
  ASSERT_TRUE(log.log->close_clean());
  log.checkpoint();
  for (bool clean : {true, false}) {
    log.log.reset();
    const std::pair<const char*, std::size_t> files[] = {{".index", 10'485'760}, {".timeindex", 10'485'756}};
    for (const auto& [suffix, bytes] : files) {
      std::string content = *log.disk.content(log.path(Offset{0}, suffix));
      content.resize(bytes);
      log.disk.put_file(log.path(Offset{0}, suffix), content);
    }
    log.open(clean);
    EXPECT_EQ(offset_at(120), 20);
    EXPECT_EQ(log.read_all(Offset{31}, log.end()).size(), 19u);
    EXPECT_EQ(offset_entries().size(), 49u);
    EXPECT_LE(time_entries().size(), 50u);
  }
}

TEST_F(SegmentTest, rolls_before_a_segment_gets_too_large) {
  const auto size = static_cast<int32_t>(batch(1).size());
  open(0, 3 * size);
  for (int i = 0; i < 7; ++i) log.append(batch(1));
  EXPECT_THAT(bases(), ElementsAre(0, 3, 6));
  EXPECT_EQ(log.offsets().size(), 7u);
  EXPECT_EQ(log.try_append(batch({.records = 1, .value_bytes = 1'000})).error().kind, ErrorKind::too_large);
}

TEST_F(SegmentTest, rolls_by_the_records_own_time) {
  log.config.segment_ms = 1'000;
  open();
  log.append(batch(at(5'000)));
  log.append(batch(at(6'000)));
  log.append(batch(at(6'001)));
  log.append(batch(at(1)));
  EXPECT_THAT(bases(), ElementsAre(0, 2));
  log.reopen();
  log.append(batch(at(7'002)));
  EXPECT_THAT(bases(), ElementsAre(0, 2, 4)) << "the first timestamp is known after a restart";
}

TEST_F(SegmentTest, jitter_only_shortens_a_segment) {
  log.config.segment_ms = 1'000;
  log.config.segment_jitter_ms = 1'000;
  open();
  for (int i = 0; i < 100; ++i) log.append(batch(at(5'000 + 100 * i)));
  EXPECT_GE(bases().size(), 10u);
}

TEST_F(SegmentTest, rolls_when_an_index_is_full) {
  log.config.segment_index_bytes = 5 * 12;
  open();
  for (int i = 0; i < 12; ++i) log.append(batch(at(100 + i)));
  EXPECT_THAT(bases(), ElementsAre(0, 5, 10));
  log.reopen();
  check_indexes(log.disk, TestLog::directory);
}

TEST_F(SegmentTest, rolls_when_the_offset_no_longer_fits_an_index_entry) {
  open();
  const int64_t far = int64_t{5} << 30;
  ASSERT_TRUE(log.log->append_as_follower(batch({.records = 1, .base_offset = Offset{7}}), log.now));
  ASSERT_TRUE(log.log->append_as_follower(batch({.records = 1, .base_offset = Offset(far)}), log.now));
  EXPECT_THAT(bases(), ElementsAre(0, far));
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{7, far}));
}

TEST_F(SegmentTest, an_idle_segment_is_rolled_when_due) {
  log.config.segment_ms = 1'000;
  open();
  EXPECT_FALSE(log.log->roll_if_due(TimestampMs{1 << 30}).value());
  log.append(batch(at(5'000)));
  EXPECT_FALSE(log.log->roll_if_due(TimestampMs{6'000}).value());
  EXPECT_TRUE(log.log->roll_if_due(TimestampMs{6'001}).value());
  EXPECT_THAT(bases(), ElementsAre(0, 1));
}

TEST_F(SegmentTest, timestamps_are_found_exactly_within_batches) {
  open();
  log.append(batch({.records = 5, .timestamp = TimestampMs{100}, .timestamp_step = 10}));
  log.append(batch(
      {.records = 5, .timestamp = TimestampMs{200}, .timestamp_step = 10, .codec = protocol::Codec::lz4}));
  EXPECT_EQ(offset_at(0), 0);
  EXPECT_EQ(offset_at(120), 2);
  EXPECT_EQ(offset_at(121), 3);
  EXPECT_EQ(offset_at(141), 5);
  EXPECT_EQ(offset_at(235), 9);
  EXPECT_EQ(offset_at(241), std::nullopt);
}

TEST_F(SegmentTest, timestamps_out_of_order_give_the_first_offset_at_or_after) {
  const auto size = static_cast<int32_t>(batch(1).size());
  open(0, 4 * size);
  const std::vector<int64_t> times = {100, 500, 200, 300, 600, 50, 10'000'000'000, 40, 700};
  for (int64_t timestamp : times) log.append(batch(at(timestamp)));
  for (int64_t wanted : {int64_t{0}, int64_t{100}, int64_t{101}, int64_t{250}, int64_t{501}, int64_t{601},
                         int64_t{10'000'000'000}, int64_t{10'000'000'001}}) {
    std::optional<int64_t> expected;
    for (std::size_t i = 0; i < times.size() && !expected; ++i)
      if (times[i] >= wanted) expected = static_cast<int64_t>(i);
    EXPECT_EQ(offset_at(wanted), expected) << wanted;
  }
  const auto max = log.log->offset_of_max_timestamp();
  ASSERT_TRUE(max && *max);
  EXPECT_EQ((*max)->offset, Offset{6});
  EXPECT_EQ((*max)->timestamp, TimestampMs{10'000'000'000});
}

TEST_F(SegmentTest, the_first_record_with_the_largest_timestamp_is_found_within_its_batch) {
  open();
  EXPECT_FALSE(*log.log->offset_of_max_timestamp());
  log.append(batch({.records = 3, .timestamp = TimestampMs{100}, .timestamp_step = 10}));
  log.append(batch(at(120, 3)));
  EXPECT_EQ((*log.log->offset_of_max_timestamp())->offset, Offset{2});
}

TEST_F(SegmentTest, records_below_the_log_start_are_not_found_by_time) {
  open();
  log.append(batch(at(100, 4)));
  log.append(batch(at(100, 4)));
  ASSERT_TRUE(log.log->delete_records_before(Offset{2}));
  EXPECT_EQ(offset_at(50), 2);
}

TEST_F(SegmentTest, files_stay_within_the_budget) {
  io::FakeDisk& disk = log.disk;
  FilePool pool(disk, 5);
  std::vector<std::unique_ptr<Log>> logs;
  for (int i = 0; i < 40; ++i) {
    logs.push_back(*Log::open(disk, pool, "data/many-" + std::to_string(i),
                              {.topic = "many",
                               .partition = PartitionIndex(i),
                               .topic_id = {},
                               .config = std::make_shared<LogConfig>(),
                               .now = log.now}));
  }
  for (int round = 0; round < 3; ++round)
    for (auto& one : logs) {
      Bytes bytes = batch(2);
      ASSERT_TRUE(one->append_as_leader(bytes, LeaderEpoch{0}, log.now));
      ASSERT_TRUE(one->flush());
      EXPECT_EQ(one->read(one->log_end_offset() - 2, 1'000, one->log_end_offset(), true)->slice.length,
                bytes.size());
      EXPECT_LE(pool.open_files(), 5u);
    }
  logs.clear();
  EXPECT_EQ(pool.open_files(), 0u);
}

}  // namespace
}  // namespace barnabas::storage
