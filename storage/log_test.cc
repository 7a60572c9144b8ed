#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/log_fixture.h"

namespace barnabas::storage {
namespace {

using namespace test;

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override { log.open(); }
  TestLog log;
};

TEST_F(LogTest, offsets_are_contiguous_and_records_come_back) {
  EXPECT_EQ(log.append(batch(3)).base_offset, Offset{0});
  const AppendResult second = log.append(batch(2));
  EXPECT_EQ(second.base_offset, Offset{3});
  EXPECT_EQ(second.last_offset, Offset{4});
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST_F(LogTest, several_batches_are_appended_in_one_write) {
  Bytes both = batch(3);
  const Bytes second = batch(2);
  both.insert(both.end(), second.begin(), second.end());
  const uint64_t writes = log.disk.calls(io::DiskCall::write);
  EXPECT_EQ(log.append(both).last_offset, Offset{4});
  EXPECT_EQ(log.disk.calls(io::DiskCall::write), writes + 1);
  EXPECT_EQ(log.offsets().size(), 5u);
}

TEST_F(LogTest, an_append_of_nothing_or_of_half_a_batch_is_refused) {
  EXPECT_EQ(log.try_append({}).error().kind, ErrorKind::invalid);
  Bytes half = batch(3);
  half.resize(half.size() - 1);
  EXPECT_FALSE(log.try_append(half));
  EXPECT_EQ(log.end(), Offset{0});
  EXPECT_EQ(log.append(batch(1)).base_offset, Offset{0});
}

TEST_F(LogTest, the_epoch_is_stamped_and_its_start_known) {
  log.epoch = LeaderEpoch{3};
  log.append(batch(2));
  log.epoch = LeaderEpoch{5};
  log.append(batch(2));
  EXPECT_EQ(log.log->latest_epoch(), LeaderEpoch{5});
  EXPECT_EQ(log.log->end_offset_for_epoch(LeaderEpoch{3}), (EpochEnd{LeaderEpoch{3}, Offset{2}}));
  EXPECT_EQ(log.log->end_offset_for_epoch(LeaderEpoch{4}), (EpochEnd{LeaderEpoch{3}, Offset{2}}));
  EXPECT_EQ(log.log->end_offset_for_epoch(LeaderEpoch{5}), (EpochEnd{LeaderEpoch{5}, Offset{4}}));
  EXPECT_EQ(log.log->end_offset_for_epoch(LeaderEpoch{6}), EpochEnd{});
  EXPECT_EQ(log.log->epoch_of(Offset{1}), LeaderEpoch{3});
}

TEST_F(LogTest, a_read_outside_of_the_log_is_out_of_range) {
  log.append(batch(3));
  EXPECT_EQ(log.log->read(Offset{4}, 100, Offset{3}, true).error().kind, ErrorKind::out_of_range);
  EXPECT_EQ(log.log->read(Offset{-1}, 100, Offset{3}, true).error().kind, ErrorKind::out_of_range);
  EXPECT_EQ(log.log->read(Offset{3}, 100, Offset{3}, true)->slice.length, 0u);
}

TEST_F(LogTest, nothing_at_or_above_the_bound_is_read) {
  for (int i = 0; i < 5; ++i) log.append(batch(2));
  const auto result = log.log->read(Offset{0}, 1 << 20, Offset{4}, true);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->next_offset, Offset{4});
  EXPECT_EQ(log.read_all(Offset{0}, Offset{4}).size(), 4u);
  // A bound within a batch keeps the batch back.
  EXPECT_EQ(log.log->read(Offset{4}, 1 << 20, Offset{5}, true)->slice.length, 0u);
}

TEST_F(LogTest, a_read_begins_with_the_batch_that_contains_the_offset) {
  log.append(batch(4));
  log.append(batch(4));
  const auto result = log.log->read(Offset{6}, 1 << 20, log.end(), true);
  ASSERT_TRUE(result);
  EXPECT_EQ(protocol::RecordBatchView::parse(log.bytes_of(*result))->base_offset(), Offset{4});
}

TEST_F(LogTest, the_first_batch_is_read_whatever_its_size_if_so_asked) {
  const Bytes one = batch({.records = 1, .value_bytes = 5'000});
  log.append(one);
  log.append(one);
  auto result = log.log->read(Offset{0}, 100, log.end(), true);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->slice.length, one.size());
  EXPECT_EQ(result->next_offset, Offset{1});
  result = log.log->read(Offset{0}, 100, log.end(), false);
  EXPECT_EQ(result->slice.length, 0u);
  EXPECT_TRUE(result->first_batch_incomplete);
}

TEST_F(LogTest, reads_stop_at_a_batch_below_max_bytes) {
  const std::size_t size = batch({.records = 1, .value_bytes = 3'000}).size();
  for (int i = 0; i < 20; ++i) log.append(batch({.records = 1, .value_bytes = 3'000}));
  for (uint64_t max = size; max < 20 * size; max += 1'234) {
    const auto result = log.log->read(Offset{2}, max, log.end(), false);
    ASSERT_TRUE(result);
    const uint64_t fit = std::min<uint64_t>(max / size, 18);
    EXPECT_EQ(result->slice.length, fit * size) << max;
    EXPECT_EQ(result->next_offset, Offset(2) + static_cast<int64_t>(fit));
  }
}

TEST_F(LogTest, a_reader_that_goes_on_costs_no_search) {
  for (int i = 0; i < 200; ++i) log.append(batch({.records = 1, .value_bytes = 1'000}));
  Offset at{0};
  at = log.log->read(at, 50'000, log.end(), true)->next_offset;
  const uint64_t reads = log.disk.calls(io::DiskCall::read);
  // One look at the headers near the cut.
  at = log.log->read(at, 50'000, log.end(), true)->next_offset;
  EXPECT_LE(log.disk.calls(io::DiskCall::read), reads + 1);
  // To the end of the log, and on from there: none at all.
  at = log.log->read(at, 1 << 20, log.end(), true)->next_offset;
  EXPECT_EQ(at, log.end());
  log.append(batch(1));
  const uint64_t before = log.disk.calls(io::DiskCall::read);
  at = log.log->read(at, 1 << 20, log.end(), true)->next_offset;
  EXPECT_EQ(log.disk.calls(io::DiskCall::read), before);
  EXPECT_EQ(at, log.end());
}

TEST_F(LogTest, the_bound_where_a_flush_ended_needs_no_search) {
  log.append(batch(3));
  log.flush();
  log.append(batch(3));
  const uint64_t reads = log.disk.calls(io::DiskCall::read);
  EXPECT_EQ(log.log->read(Offset{0}, 1 << 20, Offset{3}, true)->next_offset, Offset{3});
  EXPECT_EQ(log.disk.calls(io::DiskCall::read), reads);
}

TEST_F(LogTest, a_clean_stop_keeps_everything_and_needs_no_scan) {
  log.epoch = LeaderEpoch{2};
  log.append(batch({.records = 3, .producer_id = 7}));
  log.append(batch({.records = 2, .producer_id = 7, .sequence = 3}));
  log.reopen();
  EXPECT_EQ(log.end(), Offset{5});
  EXPECT_EQ(log.log->recovery_point(), Offset{5});
  EXPECT_FALSE(log.log->recovery().scanned);
  EXPECT_EQ(log.log->latest_epoch(), LeaderEpoch{2});
  EXPECT_EQ(log.log->topic_id().value(), log.topic_id);
  EXPECT_EQ(log.append(batch({.records = 1, .producer_id = 7, .sequence = 5})).base_offset, Offset{5});
  EXPECT_EQ(log.offsets().size(), 6u);
}

TEST_F(LogTest, opening_after_a_clean_stop_reads_names_and_sizes_only) {
  for (int i = 0; i < 10; ++i) log.append(batch(100));
  ASSERT_TRUE(log.log->close_clean());
  log.checkpoint();
  log.log.reset();
  log.disk.reset_counters();
  log.open(/*clean=*/true);
  EXPECT_EQ(log.end(), Offset{1'000});
  EXPECT_EQ(log.disk.calls(), 2u) << "list, file_size";
  EXPECT_EQ(log.files.open_files(), 0u);
}

TEST_F(LogTest, a_clean_stop_without_checkpoint_still_finds_the_end) {
  for (int i = 0; i < 10; ++i) log.append(batch(100));
  ASSERT_TRUE(log.log->close_clean());
  log.recovery_point = Offset{0};
  log.open(/*clean=*/true);
  EXPECT_EQ(log.end(), Offset{1'000});
  EXPECT_FALSE(log.log->recovery().scanned);
}

TEST_F(LogTest, an_untouched_log_is_closed_without_a_write) {
  log.append(batch(3));
  log.reopen();
  log.disk.reset_counters();
  ASSERT_TRUE(log.log->close_clean());
  EXPECT_EQ(log.disk.calls(), 0u);
}

TEST_F(LogTest, a_closed_log_answers_closed) {
  ASSERT_TRUE(log.log->close_clean());
  EXPECT_EQ(log.try_append(batch(1)).error().kind, ErrorKind::closed);
  EXPECT_EQ(log.log->flush().error().kind, ErrorKind::closed);
}

TEST_F(LogTest, what_was_flushed_survives_a_power_cut) {
  log.append(batch(3));
  EXPECT_EQ(log.flush(), Offset{3});
  log.append(batch(2));
  log.lose_power();
  EXPECT_EQ(log.end(), Offset{3});
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(LogTest, everything_survives_the_death_of_the_process) {
  log.append(batch(3));
  log.append(batch(2));
  log.crash();
  EXPECT_EQ(log.end(), Offset{5});
  EXPECT_TRUE(log.log->recovery().scanned);
  EXPECT_TRUE(log.log->recovery().lossless());
  EXPECT_EQ(log.log->recovery_point(), Offset{5}) << "what is shown must not be lost to the next power cut";
}

TEST_F(LogTest, a_torn_tail_is_dropped_and_reported) {
  log.append(batch(3));
  const uint64_t good = log.log->size_bytes();
  log.append(batch(2));
  log.log.reset();
  std::string content = *log.disk.content(log.path(Offset{0}, ".log"));
  log.disk.put_file(log.path(Offset{0}, ".log"), content.substr(0, content.size() - 7));
  log.open();
  EXPECT_EQ(log.end(), Offset{3});
  EXPECT_EQ(log.log->recovery().truncated_bytes, content.size() - 7 - good);
  EXPECT_EQ(log.log->recovery().truncated_at, Offset{3});
  EXPECT_THAT(log.log->recovery().reason, ::testing::HasSubstr("byte " + std::to_string(good)));
  EXPECT_EQ(log.append(batch(1)).base_offset, Offset{3});
  EXPECT_EQ(log.offsets().size(), 4u);
}

TEST_F(LogTest, a_flipped_bit_cuts_the_log_there) {
  for (int i = 0; i < 5; ++i) log.append(batch(2));
  log.log.reset();
  std::string content = *log.disk.content(log.path(Offset{0}, ".log"));
  const std::size_t size = content.size() / 5;
  content[3 * size + 70] ^= 1;
  log.disk.put_file(log.path(Offset{0}, ".log"), content);
  log.open();
  EXPECT_EQ(log.end(), Offset{6});
  EXPECT_THAT(log.log->recovery().reason, ::testing::HasSubstr("checksum"));
}

TEST_F(LogTest, zeros_at_the_end_are_dropped) {
  log.append(batch(3));
  log.log.reset();
  std::string content = *log.disk.content(log.path(Offset{0}, ".log"));
  log.disk.put_file(log.path(Offset{0}, ".log"), content + std::string(4'000, '\0'));
  log.open();
  EXPECT_EQ(log.end(), Offset{3});
  EXPECT_EQ(log.log->recovery().truncated_bytes, 4'000u);
}

TEST_F(LogTest, messages_of_old_formats_are_refused_and_kept) {
  log.log.reset();
  // A message of version 1: offset 0, length 30, crc, magic 1.
  const char message[] =
      "\0\0\0\0\0\0\0\0"
      "\0\0\0\x1e"
      "\0\0\0\0"
      "\x01\0"
      "\0\0\0\0\0\0\0\x05"
      "\0\0\0\0"
      "\0\0\0\x08"
      "12345678";
  std::string bytes(message, sizeof message - 1);
  uint32_t crc = ~0u;
  for (char c : bytes.substr(16)) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  store_big_endian(std::as_writable_bytes(std::span(bytes)).data() + 12, ~crc);
  log.disk.put_file(log.path(Offset{0}, ".log"), bytes);
  EXPECT_EQ(log.try_open().error().kind, ErrorKind::unsupported);
  EXPECT_EQ(*log.disk.content(log.path(Offset{0}, ".log")), bytes);
}

TEST_F(LogTest, config_is_replaced_while_running) {
  LogConfig small = log.config;
  small.segment_bytes = 1'000;
  log.log->set_config(std::make_shared<LogConfig>(small));
  for (int i = 0; i < 10; ++i) log.append(batch({.records = 1, .value_bytes = 500}));
  EXPECT_GT(log.log->segments().size(), 5u);
}

TEST_F(LogTest, flush_is_due_by_count_and_by_time) {
  log.config.flush_messages = 3;
  log.config.flush_ms = 500;
  log.open();
  EXPECT_FALSE(log.log->flush_due(log.now));
  log.append(batch(2));
  EXPECT_FALSE(log.log->flush_due(log.now));
  EXPECT_TRUE(log.log->flush_due(log.now + 500));
  log.append(batch(1));
  EXPECT_TRUE(log.log->flush_due(log.now));
  log.flush();
  EXPECT_FALSE(log.log->flush_due(log.now + 500));
}

TEST_F(LogTest, a_renamed_directory_takes_no_more_and_readers_keep_what_they_have) {
  log.append(batch(3));
  const auto result = log.log->read(Offset{0}, 1 << 20, log.end(), true);
  ASSERT_TRUE(log.log->rename_directory("data/topic-0.0123-delete"));
  EXPECT_EQ(log.try_append(batch(1)).error().kind, ErrorKind::closed);
  EXPECT_EQ(log.bytes_of(*result).size(), result->slice.length);
  EXPECT_TRUE(log.disk.exists("data/topic-0.0123-delete").value());
  EXPECT_FALSE(log.disk.exists(TestLog::directory).value());
}

TEST_F(LogTest, followers_take_batches_as_they_are_with_gaps) {
  Bytes batches = batch({.records = 2, .base_offset = Offset{10}, .leader_epoch = LeaderEpoch{4}});
  const Bytes second = batch({.records = 1, .base_offset = Offset{20}, .leader_epoch = LeaderEpoch{5}});
  batches.insert(batches.end(), second.begin(), second.end());
  const std::size_t whole = batches.size();
  batches.insert(batches.end(), second.begin(), second.end() - 10);  // cut by max.bytes
  auto result = log.log->append_as_follower(batches, log.now);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->base_offset, Offset{10});
  EXPECT_EQ(result->last_offset, Offset{20});
  EXPECT_EQ(log.log->size_bytes(), whole);
  EXPECT_EQ(log.end(), Offset{21});
  EXPECT_EQ(log.log->end_offset_for_epoch(LeaderEpoch{4}), (EpochEnd{LeaderEpoch{4}, Offset{20}}));
  EXPECT_EQ(log.offsets(), (std::vector<int64_t>{10, 11, 20}));
  EXPECT_EQ(log.log->append_as_follower(second, log.now).error().kind, ErrorKind::out_of_range);
}

TEST_F(LogTest, followers_refuse_damaged_batches) {
  Bytes damaged = batch(2);
  damaged.back() ^= std::byte{1};
  EXPECT_EQ(log.log->append_as_follower(damaged, log.now).error().kind, ErrorKind::corrupt);
  EXPECT_EQ(log.end(), Offset{0});
}

}  // namespace
}  // namespace barnabas::storage
