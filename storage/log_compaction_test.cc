// Compaction of one log, case by case. Random histories: compaction_model_test.cc.

#include <gtest/gtest.h>

#include <algorithm>

#include "storage/compaction_model.h"
#include "storage/transaction_index.h"

namespace barnabas::storage {
namespace {

using namespace test;

/// A compacted log, and verbs for it.
class CompactedLog {
 public:
  CompactedLog() {
    log.config.cleanup_compact = true;
    log.config.cleanup_delete = false;
    log.config.delete_retention_ms = 10'000;
    log.open();
  }

  struct Producer {
    int64_t id = -1;
    int32_t sequence = 0;
    bool transactional = false;
  };
  Offset put(const std::string& key, std::optional<std::string> value, Producer producer = {-1, 0, false},
             protocol::Codec codec = protocol::Codec::none) {
    return put({{key, std::move(value)}}, producer, codec);
  }
  Offset put(std::vector<KeyedRecord> records, Producer producer = {-1, 0, false},
             protocol::Codec codec = protocol::Codec::none) {
    KeyedBatch shape;
    shape.records = std::move(records);
    shape.timestamp = log.now;
    shape.producer_id = producer.id;
    shape.sequence = producer.sequence;
    shape.transactional = producer.transactional;
    shape.codec = codec;
    return log.append(keyed_batch(shape)).base_offset;
  }
  void end(int64_t producer_id, bool abort) {
    log.append(marker(producer_id, abort), AppendOrigin::coordinator);
  }
  void roll() { ASSERT_TRUE(log.log->roll(log.now)); }

  Result<CleaningResult> try_clean(std::size_t slots = 1'000, std::size_t buffer = 10'000) {
    OffsetMap keys(slots * OffsetMap::slot_bytes, 0.9);
    CleaningTools tools{.keys = keys, .read_buffer_bytes = buffer, .write_buffer_bytes = buffer};
    auto need = log.log->cleaning_need(log.now, log.end());
    if (!need) return std::unexpected(need.error());
    return log.log->clean(*need, tools, log.now);
  }
  CleaningResult clean(std::size_t slots = 1'000, std::size_t buffer = 10'000) {
    auto result = try_clean(slots, buffer);
    EXPECT_TRUE(result) << result.error().message;
    return result.value_or(CleaningResult{});
  }

  /// "0 a=1", one for each record that is left; a tombstone is "4 a", a marker "5 commit".
  std::vector<std::string> left() {
    std::vector<std::string> lines;
    for (const FoundBatch& batch : read_batches(log, 1'000)) {
      if (batch.records.empty()) lines.push_back(std::to_string(batch.header.base_offset.value()) + " empty");
      for (const auto& [offset, record] : batch.records) {
        std::string line = std::to_string(offset.value()) + " ";
        if (batch.header.is_control())
          line += record.key->at(3) == 0 ? "abort" : "commit";
        else
          line += record.key.value_or("-") + (record.value ? "=" + *record.value : "");
        lines.push_back(line);
      }
    }
    return lines;
  }
  using Lines = std::vector<std::string>;

  TestLog log;
};

class CompactionTest : public ::testing::Test, protected CompactedLog {};

TEST_F(CompactionTest, last_value_of_each_key_stays_at_its_offset) {
  put("a", "1");
  put("b", "2");
  put({{"a", "3"}, {"c", "4"}, {"a", "5"}});
  roll();
  put("a", "6");
  clean();
  EXPECT_EQ(left(), (Lines{"1 b=2", "3 c=4", "4 a=5", "5 a=6"})) << "the active segment is not gone through";
  EXPECT_EQ(log.log->cleaned_to(), Offset{5});
  EXPECT_EQ(log.end(), Offset{6});
}

TEST_F(CompactionTest, batch_keeps_its_offsets_epoch_and_codec) {
  for (int codec = 0; codec < protocol::codec_count; ++codec) {
    log.epoch = LeaderEpoch{codec};
    put({{"x", "old"}, {"k" + std::to_string(codec), "kept"}, {"x", "old"}}, {-1, 0, false},
        static_cast<protocol::Codec>(codec));
  }
  put("x", "new");
  roll();
  clean();
  const auto batches = read_batches(log, 1'000);
  ASSERT_EQ(batches.size(), static_cast<std::size_t>(protocol::codec_count) + 1);
  for (int codec = 0; codec < protocol::codec_count; ++codec) {
    const auto& header = batches[static_cast<std::size_t>(codec)].header;
    EXPECT_EQ(header.base_offset, Offset{3 * codec});
    EXPECT_EQ(header.last_offset_delta, 2);
    EXPECT_EQ(header.record_count, 1);
    EXPECT_EQ(header.partition_leader_epoch, LeaderEpoch{codec});
    EXPECT_EQ(header.codec_id(), codec);
    EXPECT_EQ(header.max_timestamp, log.now + 1);
  }
}

TEST_F(CompactionTest, tombstone_stays_until_its_horizon_and_hides_what_is_older) {
  put("a", "1");
  put("a", std::nullopt);
  roll();
  put("b", "2");
  roll();
  clean();
  EXPECT_EQ(left(), (Lines{"1 a", "2 b=2"}));
  EXPECT_EQ(read_batches(log, 1'000)[0].header.delete_horizon(), log.now + 10'000);

  log.now = log.now + 9'999;
  put("c", "3");
  roll();
  clean();
  EXPECT_EQ(left(), (Lines{"1 a", "2 b=2", "3 c=3"})) << "not yet, and the horizon is not set again";
  EXPECT_EQ(read_batches(log, 1'000)[0].header.delete_horizon(), log.now + 1);

  log.now = log.now + 1;
  put("d", "4");
  roll();
  clean();
  EXPECT_EQ(left(), (Lines{"2 b=2", "3 c=3", "4 d=4"}));
}

TEST_F(CompactionTest, endless_delete_retention_does_not_wrap) {
  log.config.delete_retention_ms = std::numeric_limits<int64_t>::max();
  log.log->set_config(std::make_shared<LogConfig>(log.config));
  put("a", std::nullopt);
  put("b", "1");
  roll();
  clean();
  EXPECT_EQ(read_batches(log, 1'000)[0].header.delete_horizon(),
            TimestampMs{std::numeric_limits<int64_t>::max()});
}

TEST_F(CompactionTest, aborted_data_goes_and_markers_stay_as_long_as_somebody_may_need_them) {
  put("a", "committed", {7, 0, true});
  put("a", "aborted", {8, 0, true});
  end(8, true);   // 2
  end(7, false);  // 3
  put("x", "1", {8, 1, false});
  roll();
  clean();
  EXPECT_EQ(left(), (Lines{"0 a=committed", "2 abort", "3 commit", "4 x=1"}));
  EXPECT_EQ(log.log->aborted_transactions(Offset{0}, log.end())->size(), 1u) << "its data was still read";
  put("y", "1");
  roll();
  clean();  // none of its data was read: the horizon begins
  EXPECT_EQ(left(), (Lines{"0 a=committed", "2 abort", "3 commit", "4 x=1", "5 y=1"}));
  EXPECT_TRUE(log.log->aborted_transactions(Offset{0}, log.end())->empty());
  log.now = log.now + 10'000;
  put("z", "1");
  roll();
  clean();
  EXPECT_EQ(left(), (Lines{"0 a=committed", "3 commit", "4 x=1", "5 y=1", "6 z=1"}));
}

TEST_F(CompactionTest, data_is_aborted_by_a_marker_in_a_later_segment) {
  put("a", "good");
  put("a", "aborted", {8, 0, true});
  roll();
  put("b", "1");
  end(8, true);
  clean();
  EXPECT_EQ(left(), (Lines{"0 a=good", "1 empty", "2 b=1", "3 abort"}));
}

TEST_F(CompactionTest, nothing_is_cleaned_from_the_first_undecided_transaction_on) {
  put("a", "1");
  roll();
  put("a", "2", {8, 0, true});
  roll();
  put("a", "3");
  roll();
  const auto need = log.log->cleaning_need(log.now, log.end());
  EXPECT_EQ(need->first_uncleanable, Offset{1});
  clean();
  EXPECT_EQ(left().size(), 3u);
  EXPECT_EQ(log.log->cleaning_need(log.now, Offset{0})->first_uncleanable, Offset{1}) << "cleaned already";
}

TEST_F(CompactionTest, nothing_is_cleaned_above_the_high_watermark) {
  put("a", "1");
  roll();
  put("a", "2");
  roll();
  EXPECT_EQ(log.log->cleaning_need(log.now, Offset{1})->first_uncleanable, Offset{1});
  EXPECT_EQ(log.log->cleaning_need(log.now, Offset{0})->cleanable_bytes, 0u);
}

TEST_F(CompactionTest, last_batch_of_a_producer_stays_for_its_sequence) {
  put({{"a", "1"}, {"a", "2"}}, {5, 0, false});
  put({{"a", "3"}, {"a", "4"}}, {5, 2, false});
  put("a", "5");
  roll();
  put("b", "1");
  roll();
  clean();
  EXPECT_EQ(left(), (Lines{"2 empty", "4 a=5", "5 b=1"}));
  // No snapshot is there to help: what the log says must do.
  for (const std::string& path : log.disk.all_files())
    if (path.ends_with(".snapshot")) log.disk.remove(path).value();
  log.recovery_point = Offset{0};
  log.crash();
  EXPECT_EQ(log.log->producers().at(0).last_sequence(), 3);
  EXPECT_EQ(log.log->producers().at(0).last_offset(), Offset{3});
  KeyedBatch repeated;
  repeated.records = {{"a", "3"}, {"a", "4"}};
  repeated.producer_id = 5;
  repeated.sequence = 2;
  EXPECT_TRUE(log.append(keyed_batch(repeated)).duplicate);
}

TEST_F(CompactionTest, last_batch_that_was_gone_through_stays_for_its_offset_until_the_next_time) {
  put("a", "1");
  put("q", "aborted", {8, 0, true});
  roll();
  end(8, true);
  put("w", "1", {8, 1, false});
  clean();
  EXPECT_EQ(left(), (Lines{"0 a=1", "1 empty", "2 abort", "3 w=1"}));
  roll();
  clean();
  EXPECT_EQ(left(), (Lines{"0 a=1", "2 abort", "3 w=1"}));
  const auto in_gap = log.log->read(Offset{1}, 100, log.end(), true);
  EXPECT_EQ(in_gap->next_offset, Offset{3}) << "a reader in a gap gets on";
}

TEST_F(CompactionTest, small_map_takes_several_passes_and_gets_through_a_large_batch) {
  std::vector<KeyedRecord> records;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 20; ++i) records.push_back({"k" + std::to_string(i), std::to_string(round)});
  put(records);
  put("k0", "last");
  roll();
  int passes = 0;
  while (log.log->cleaned_to() != Offset{41}) {
    ASSERT_LT(++passes, 30);
    clean(/*slots=*/5);
  }
  EXPECT_GT(passes, 5);
  Lines expected;
  for (int i = 1; i < 20; ++i) expected.push_back(std::to_string(20 + i) + " k" + std::to_string(i) + "=1");
  expected.push_back("40 k0=last");
  EXPECT_EQ(left(), expected);
}

TEST_F(CompactionTest, segments_are_joined_up_to_segment_bytes) {
  for (int i = 0; i < 20; ++i) {
    put("key " + std::to_string(i), std::string(300, '.'));
    roll();
  }
  LogConfig config = log.config;
  config.segment_bytes = 1'300;
  log.log->set_config(std::make_shared<LogConfig>(config));
  clean();
  const auto segments = log.log->segments();
  EXPECT_EQ(segments.size(), 8u) << "three in each, and the active one";
  for (const SegmentInfo& segment : segments) EXPECT_LE(segment.size_bytes, 1'300u);
  EXPECT_EQ(left().size(), 20u);
  check_indexes(log.disk, TestLog::directory);
}

TEST_F(CompactionTest, reader_keeps_the_slice_it_has_and_goes_on_in_the_new_segment) {
  put("a", "1");
  put("a", "2");
  roll();
  put("b", "3");
  const auto before = log.log->read(Offset{0}, 1'000, log.end(), true);
  clean();
  for (const std::string& path : log.log->take_deleted_files()) ASSERT_TRUE(log.disk.remove(path));
  EXPECT_EQ(log.bytes_of(*before).size(), before->slice.length);
  EXPECT_EQ(left(), (Lines{"1 a=2", "2 b=3"}));
}

TEST_F(CompactionTest, nothing_to_drop_leaves_the_files_alone) {
  put("a", "1");
  put("b", "2");
  roll();
  clean();
  const uint64_t renames = log.disk.calls(io::DiskCall::rename);
  put("c", "3");
  EXPECT_EQ(clean().segments_before, 0u) << "nothing is dirty";
  roll();
  log.config.segment_bytes = 100;
  log.log->set_config(std::make_shared<LogConfig>(log.config));
  clean();
  EXPECT_EQ(log.disk.calls(io::DiskCall::rename), renames);
  EXPECT_EQ(log.log->cleaned_to(), Offset{3});
}

TEST_F(CompactionTest, min_compaction_lag_keeps_young_records) {
  log.config.min_compaction_lag_ms = 5'000;
  log.log->set_config(std::make_shared<LogConfig>(log.config));
  put("a", "1");
  roll();
  log.now = log.now + 4'000;
  put("a", "2");
  roll();
  log.now = log.now + 1'001;
  EXPECT_EQ(log.log->cleaning_need(log.now, log.end())->first_uncleanable, Offset{1});
  log.now = log.now + 4'000;
  EXPECT_EQ(log.log->cleaning_need(log.now, log.end())->first_uncleanable, Offset{2});
}

TEST_F(CompactionTest, max_compaction_lag_makes_a_log_overdue_and_rolls_an_idle_segment) {
  log.config.max_compaction_lag_ms = 5'000;
  log.config.min_cleanable_dirty_ratio = 1;
  log.log->set_config(std::make_shared<LogConfig>(log.config));
  put("a", "1");
  put("a", "2");
  log.now = log.now + 5'001;
  EXPECT_TRUE(log.log->roll_if_due(log.now).value());
  const auto need = log.log->cleaning_need(log.now, log.end());
  EXPECT_TRUE(need->overdue);
  EXPECT_TRUE(need->worth_it(log.config));
  EXPECT_FALSE(log.log->cleaning_need(log.now - 10, log.end())->overdue);
}

TEST_F(CompactionTest, truncation_takes_the_cleaned_offset_with_it) {
  put("a", "1");
  put("b", "2");
  roll();
  put("c", "3");
  roll();
  clean();
  EXPECT_EQ(log.log->cleaned_to(), Offset{3});
  ASSERT_TRUE(log.log->truncate_to(Offset{1}));
  EXPECT_EQ(log.log->cleaned_to(), Offset{1});
  ASSERT_TRUE(log.log->truncate_fully_and_start_at(Offset{0}));
  EXPECT_EQ(log.log->cleaned_to(), Offset{0});
}

TEST_F(CompactionTest, checkpoint_beyond_the_log_end_is_forgotten) {
  put("a", "1");
  log.flush();
  log.cleaned_to = Offset{17};
  log.crash();
  EXPECT_EQ(log.log->cleaned_to(), std::nullopt);
}

TEST_F(CompactionTest, batch_larger_than_the_buffer_and_the_limit_comes_through) {
  log.config.max_message_bytes = 2'000;
  log.log->set_config(std::make_shared<LogConfig>(log.config));
  put("a", std::string(50'000, '.'));
  put("b", std::string(50'000, '.'));
  put("a", "2");
  roll();
  clean(1'000, /*buffer=*/100);
  EXPECT_EQ(left(), (Lines{"1 b=" + std::string(50'000, '.'), "2 a=2"}));
}

TEST_F(CompactionTest, damage_is_told_and_gets_no_fresh_checksum) {
  put("a", "1");
  put({{"a", "2"}, {"b", "3"}});
  put("a", "4");
  roll();
  log.flush();
  const std::string path = log.path(Offset{0}, ".log");
  std::string content = *log.disk.content(path);
  for (std::size_t at = 0; at < content.size(); at += 7) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    log.disk.put_file(path, damaged);
    log.open(/*clean=*/true);
    const auto result = try_clean();
    // Base offset and epoch lie outside of the checksum.
    if (result) continue;
    EXPECT_EQ(result.error().kind, ErrorKind::corrupt) << result.error().message;
    EXPECT_EQ(*log.disk.content(path), damaged) << "left as it is";
    EXPECT_FALSE(log.log->broken());
  }
}

TEST_F(CompactionTest, lying_length_costs_no_memory) {
  put("a", "1");
  roll();
  log.flush();
  const std::string path = log.path(Offset{0}, ".log");
  std::string content = *log.disk.content(path);
  content.resize(content.size() + (64 << 20));  // there is room for what the length says
  store_big_endian<int32_t>(reinterpret_cast<std::byte*>(content.data()) + 8, 60 << 20);
  log.disk.put_file(path, content);
  log.open(/*clean=*/true);
  const auto result = try_clean();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::corrupt);
  EXPECT_NE(result.error().message.find("wrong checksum"), std::string::npos) << result.error().message;
}

TEST_F(CompactionTest, full_disk_leaves_the_log_as_it_was_and_usable) {
  for (int i = 0; i < 50; ++i) put("key " + std::to_string(i % 25), std::string(200, '.'));
  roll();
  log.flush();
  const Lines before = left();
  uint64_t used = 0;
  for (const std::string& path : log.disk.all_files()) used += log.disk.content(path)->size();
  for (const uint64_t room : {0, 100, 3'000, 6'000}) {
    log.disk.set_capacity(used + room);
    const auto result = try_clean(1'000, 500);
    if (result) break;
    EXPECT_EQ(result.error().kind, ErrorKind::no_space) << result.error().message;
    EXPECT_FALSE(log.log->broken());
    EXPECT_EQ(left(), before);
    for (const std::string& path : log.disk.all_files())
      EXPECT_EQ(path.find(".cleaned"), std::string::npos) << path;
  }
  log.disk.set_capacity(std::numeric_limits<uint64_t>::max());
  clean();
  EXPECT_EQ(left().size(), 25u);
}

TEST_F(CompactionTest, retention_deletes_what_lies_below_the_log_start_of_a_compact_only_topic) {
  put("a", "1");
  roll();
  put("b", "2");
  roll();
  clean();
  ASSERT_TRUE(log.log->delete_records_before(Offset{2}));
  log.config.retention_ms = 1;
  log.now = log.now + 100'000;
  EXPECT_EQ(log.log->apply_retention(log.now, log.end())->segments_deleted, 1);
  EXPECT_EQ(log.start(), Offset{2});
}

TEST_F(CompactionTest, segment_without_records_does_not_keep_later_ones_from_growing_old) {
  log.config.cleanup_delete = true;
  log.config.retention_ms = 1'000;
  log.config.segment_bytes = 300;
  log.log->set_config(std::make_shared<LogConfig>(log.config));
  put("a", std::string(150, '1'));
  roll();
  put("b", std::string(150, '2'));
  roll();
  put("a", std::string(150, '3'));
  roll();
  clean();
  ASSERT_EQ(log.log->segments().at(0).size_bytes, 0u);
  log.now = log.now + 5'000;
  EXPECT_EQ(log.log->apply_retention(log.now, log.end())->segments_deleted, 3);
}

// --- crashes
// -------------------------------------------------------------------------------------------------

// A log with everything in it, of several segments.
class LogToCrash : public CompactedLog {
 public:
  LogToCrash() {
    for (int round = 0; round < 3; ++round) {
      put("a", "round " + std::to_string(round));
      put({{"b", std::to_string(round)}, {"c", std::nullopt}}, {5, 2 * round, false}, protocol::Codec::gzip);
      put("d", "aborted", {8, round, true});
      end(8, true);
      put("e", "committed", {9, round, true});
      roll();
      end(9, false);
    }
    roll();
    log.flush();
    log.checkpoint();
  }
  // Either state is fine, and so is one segment this and one that.
  void check_all_there() {
    std::map<std::string, std::string> last;
    for (const std::string& line : left()) {
      const auto blank = line.find(' '), equals = line.find('=');
      if (equals != std::string::npos) last[line.substr(blank + 1, equals - blank - 1)] = line;
    }
    EXPECT_EQ(last["a"], "14 a=round 2");
    EXPECT_EQ(last["b"], "15 b=2");
    EXPECT_EQ(last["e"], "19 e=committed");
    EXPECT_EQ(log.end(), Offset{21});
    ASSERT_EQ(log.log->producers().size(), 3u);
    EXPECT_EQ(log.log->producers()[0].last_sequence(), 5);
    EXPECT_EQ(log.log->last_stable_offset(log.end()), log.end());
    const auto aborted = log.log->aborted_transactions(Offset{0}, log.end());
    ASSERT_TRUE(aborted);
    for (const FoundBatch& batch : read_batches(log, 1'000))
      for (const auto& [offset, record] : batch.records)
        if (record.value == "aborted") {
          EXPECT_TRUE(std::ranges::any_of(*aborted, [&](const AbortedTransaction& one) {
            return one.first_offset <= offset && offset < one.last_offset;
          })) << offset.value();
        }
    check_indexes(log.disk, TestLog::directory);
    std::size_t logs = 0;
    for (const std::string& path : log.disk.all_files()) {
      EXPECT_FALSE(path.ends_with(".swap") || path.ends_with(".cleaned") || path.ends_with(".deleted"))
          << path;
      logs += path.ends_with(".log") ? 1 : 0;
    }
    EXPECT_EQ(log.log->segments().size(), logs);
  }
};

TEST(CompactionCrash, power_cut_at_any_call_leaves_old_or_new) {
  for (const auto unsynced : {io::Unsynced::lost, io::Unsynced::partly_kept}) {
    uint64_t calls = 1;
    for (bool reached_end = false; !reached_end && !::testing::Test::HasFailure(); ++calls) {
      SCOPED_TRACE("power cut at call " + std::to_string(calls));
      LogToCrash one;
      one.log.disk.power_off_at(calls);
      const auto result = one.try_clean();
      reached_end = !one.log.disk.is_off();
      EXPECT_TRUE(result || !reached_end);
      one.log.lose_power(unsynced, calls);
      one.check_all_there();
      one.put("a", "later");
      one.roll();
      one.clean();
      EXPECT_EQ(one.left().back(), "21 a=later");
    }
    EXPECT_GT(calls, 40u);
  }
}

TEST(CompactionCrash, failure_of_any_call_leaves_old_or_new_also_after_the_crash_that_follows) {
  uint64_t calls = 1;
  for (bool reached_end = false; !reached_end && !::testing::Test::HasFailure(); ++calls) {
    SCOPED_TRACE("failure of call " + std::to_string(calls));
    LogToCrash one;
    one.log.disk.fail_call(calls);
    const auto result = one.try_clean();
    reached_end = one.log.disk.fault_pending();
    one.log.disk.clear_faults();
    if (!one.log.log->broken()) {
      EXPECT_EQ(one.log.offsets().back(), 20);
    }
    if (calls % 2 == 0)
      one.log.lose_power(io::Unsynced::partly_kept, calls);
    else
      one.log.crash();
    one.check_all_there();
  }
  EXPECT_GT(calls, 40u);
}

}  // namespace
}  // namespace barnabas::storage
