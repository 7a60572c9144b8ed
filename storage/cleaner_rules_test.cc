#include "storage/cleaner_rules.h"

#include <gtest/gtest.h>

#include "storage/offset_map.h"

namespace barnabas::storage {
namespace {

const std::vector<CleanerSegment> four{{Offset{0}, 100}, {Offset{10}, 50}, {Offset{20}, 30}, {Offset{30}, 7}};

TEST(CleanerRules, first_dirty_offset_outside_of_the_log_is_its_start) {
  EXPECT_EQ(first_dirty_offset({}, Offset{5}, Offset{9}), Offset{5});
  EXPECT_EQ(first_dirty_offset(Offset{7}, Offset{5}, Offset{9}), Offset{7});
  EXPECT_EQ(first_dirty_offset(Offset{9}, Offset{5}, Offset{9}), Offset{9});
  EXPECT_EQ(first_dirty_offset(Offset{4}, Offset{5}, Offset{9}), Offset{5});
  EXPECT_EQ(first_dirty_offset(Offset{10}, Offset{5}, Offset{9}), Offset{5});
}

TEST(CleanerRules, cleaning_ends_where_the_segment_of_the_bound_begins) {
  EXPECT_EQ(first_uncleanable_offset(four, Offset{0}, Offset{100}), Offset{30}) << "the active one stays";
  EXPECT_EQ(first_uncleanable_offset(four, Offset{0}, Offset{29}), Offset{20});
  EXPECT_EQ(first_uncleanable_offset(four, Offset{0}, Offset{20}), Offset{20});
  EXPECT_EQ(first_uncleanable_offset(four, Offset{15}, Offset{3}), Offset{15}) << "never below what is clean";
}

TEST(CleanerRules, ratio_counts_whole_segments) {
  const auto need = cleaning_need(four, Offset{12}, Offset{30});
  EXPECT_EQ(need.clean_bytes, 150u);
  EXPECT_EQ(need.cleanable_bytes, 80u);
  EXPECT_NEAR(need.ratio(), 80.0 / 230, 1e-9);
  LogConfig config;
  config.min_cleanable_dirty_ratio = 80.0 / 230;
  EXPECT_FALSE(need.worth_it(config)) << "it has to be above";
  config.min_cleanable_dirty_ratio = 0.3;
  EXPECT_TRUE(need.worth_it(config));
  auto overdue = need;
  overdue.overdue = true;
  config.min_cleanable_dirty_ratio = 1;
  EXPECT_TRUE(overdue.worth_it(config));
  overdue = cleaning_need(four, Offset{30}, Offset{30});
  overdue.overdue = true;
  EXPECT_FALSE(overdue.worth_it(config)) << "there is nothing";
}

TEST(CleanerRules, groups_keep_to_sizes_and_to_31_bits_of_offset) {
  LogConfig config;
  config.segment_bytes = 100;
  config.segment_index_bytes = 20;
  const auto group = [&](std::vector<GroupingSegment> segments, int64_t end) {
    return group_segments(segments, Offset(end), config);
  };
  using Groups = std::vector<std::size_t>;
  EXPECT_EQ(group({{Offset{0}, 60, 0, 0}, {Offset{1}, 40, 0, 0}, {Offset{2}, 1, 0, 0}}, 3), (Groups{2, 1}));
  EXPECT_EQ(group({{Offset{0}, 200, 0, 0}, {Offset{1}, 0, 0, 0}}, 3), (Groups{1, 1})) << "too large alone";
  EXPECT_EQ(group({{Offset{0}, 1, 15, 0}, {Offset{1}, 1, 6, 0}}, 3), (Groups{1, 1}));
  EXPECT_EQ(group({{Offset{0}, 1, 0, 15}, {Offset{1}, 1, 0, 6}}, 3), (Groups{1, 1}));
  const int64_t far = int64_t{1} << 31;
  EXPECT_EQ(group({{Offset{0}, 1, 0, 0}, {Offset{5}, 1, 0, 0}}, far), (Groups{2}));
  EXPECT_EQ(group({{Offset{0}, 1, 0, 0}, {Offset{5}, 1, 0, 0}}, far + 1), (Groups{1, 1}));
}

protocol::RecordBatchHeader batch_at(int64_t offset, int64_t producer, bool control = false) {
  protocol::RecordBatchHeader header;
  header.base_offset = Offset(offset);
  header.producer_id = ProducerId(producer);
  header.record_count = 1;
  header.attributes = protocol::batch_format::transactional_bit;
  if (control) header.attributes |= protocol::batch_format::control_bit;
  return header;
}

TEST(CleanedTransactions, one_producer_aborts_and_commits_in_turn) {
  CleanedTransactions transactions;
  const AbortedTransaction aborted{ProducerId{1}, Offset{10}, Offset{14}, Offset{15}};
  transactions.add(aborted);
  transactions.add(aborted);
  std::vector<AbortedTransaction> still;
  const EndTransactionMarker abort{.abort = true, .coordinator_epoch = 0, .timestamp = {}};
  const EndTransactionMarker commit{.abort = false, .coordinator_epoch = 0, .timestamp = {}};
  EXPECT_FALSE(transactions.read_data(batch_at(5, 1)));
  EXPECT_FALSE(transactions.read_control(batch_at(6, 1, true), commit, still)) << "its data is there";
  EXPECT_TRUE(transactions.read_data(batch_at(11, 1)));
  EXPECT_FALSE(transactions.read_data(batch_at(12, 2))) << "another producer";
  EXPECT_FALSE(transactions.read_control(batch_at(14, 1, true), abort, still));
  EXPECT_EQ(still, std::vector{aborted});
  transactions.add(aborted);  // the next segment's index tells it again
  EXPECT_FALSE(transactions.read_data(batch_at(20, 1))) << "a new transaction";
  EXPECT_TRUE(transactions.read_control(batch_at(30, 3, true), commit, still)) << "nothing of it was read";
  EXPECT_TRUE(transactions.read_control(batch_at(31, 3, true), abort, still));
  EXPECT_FALSE(transactions.read_control(batch_at(32, 3, true), std::nullopt, still)) << "not a marker";
  EXPECT_EQ(still.size(), 1u);
}

TEST(OffsetMap, is_full_at_its_load_and_still_takes_known_keys) {
  OffsetMap map(10 * OffsetMap::slot_bytes, 0.5);
  KeyHasher hasher;
  const auto hash = [&](int key) {
    hasher.add(as_byte_view("key " + std::to_string(key)));
    return hasher.finish();
  };
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(map.put(hash(i), Offset{i}));
  EXPECT_FALSE(map.put(hash(5), Offset{5}));
  EXPECT_TRUE(map.put(hash(3), Offset{33}));
  EXPECT_EQ(map.get(hash(3)), Offset{33});
  EXPECT_EQ(map.get(hash(4)), Offset{4});
  EXPECT_EQ(map.get(hash(5)), std::nullopt);
  map.clear();
  EXPECT_EQ(map.get(hash(3)), std::nullopt);
  EXPECT_TRUE(map.put(hash(5), Offset{0}));
  EXPECT_EQ(map.get(hash(5)), Offset{0});
}

TEST(OffsetMap, finds_every_key_of_many) {
  OffsetMap map(4'000 * OffsetMap::slot_bytes, 0.9);
  KeyHasher hasher;
  std::vector<KeyHash> keys;
  for (int i = 0; i < 3'600; ++i) {
    hasher.add(as_byte_view(std::to_string(i)));
    keys.push_back(hasher.finish());
    ASSERT_TRUE(map.put(keys.back(), Offset{i}));
  }
  for (int i = 0; i < 3'600; ++i) ASSERT_EQ(map.get(keys[static_cast<std::size_t>(i)]), Offset{i});
}

TEST(KeyHasher, pieces_make_one_key_and_nobody_knows_the_hash_elsewhere) {
  KeyHasher hasher, other;
  hasher.add(as_byte_view("ab"));
  hasher.add(as_byte_view("c"));
  const KeyHash pieces = hasher.finish();
  hasher.add(as_byte_view("abc"));
  EXPECT_EQ(hasher.finish(), pieces);
  other.add(as_byte_view("abc"));
  EXPECT_FALSE(other.finish() == pieces);
  EXPECT_FALSE(hasher.finish() == pieces) << "the empty key is a key";
}

}  // namespace
}  // namespace barnabas::storage
