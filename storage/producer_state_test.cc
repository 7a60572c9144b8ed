#include "storage/producer_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "storage/log_fixture.h"
#include "storage/producer_snapshot.h"

namespace barnabas::storage {
namespace {

using protocol::RecordBatchHeader;

constexpr int32_t sequence_max = std::numeric_limits<int32_t>::max();

RecordBatchHeader header(int64_t offset, int32_t sequence, int32_t records, int16_t epoch = 0,
                         int64_t producer = 1) {
  RecordBatchHeader batch;
  batch.base_offset = Offset(offset);
  batch.base_sequence = sequence;
  batch.last_offset_delta = records - 1;
  batch.record_count = records;
  batch.producer_id = ProducerId(producer);
  batch.producer_epoch = ProducerEpoch(epoch);
  batch.max_timestamp = TimestampMs(1'000 + offset);
  return batch;
}

RecordBatchHeader transactional(RecordBatchHeader batch) {
  batch.attributes |= protocol::batch_format::transactional_bit;
  return batch;
}

RecordBatchHeader control(int64_t offset, int16_t epoch = 0, int64_t producer = 1) {
  RecordBatchHeader batch = transactional(header(offset, -1, 1, epoch, producer));
  batch.attributes |= protocol::batch_format::control_bit;
  return batch;
}

class ProducerStateTest : public ::testing::Test {
 protected:
  ErrorKind refusal(const RecordBatchHeader& batch, AppendOrigin origin = AppendOrigin::client) {
    auto checked = state.check(batch, origin);
    EXPECT_FALSE(checked);
    return checked ? ErrorKind::io : checked.error().kind;
  }
  bool accepts(const RecordBatchHeader& batch, AppendOrigin origin = AppendOrigin::client) {
    return state.check(batch, origin).has_value();
  }
  ProducerState state;
};

TEST_F(ProducerStateTest, an_unknown_producer_may_begin_anywhere) {
  EXPECT_TRUE(accepts(header(0, 0, 3)));
  EXPECT_TRUE(accepts(header(0, 5, 3)));
}

TEST_F(ProducerStateTest, sequences_follow_without_a_gap) {
  state.append(header(0, 0, 3));
  EXPECT_TRUE(accepts(header(3, 3, 1)));
  EXPECT_EQ(refusal(header(3, 4, 1)), ErrorKind::out_of_order_sequence);
  EXPECT_EQ(refusal(header(3, 2, 1)), ErrorKind::out_of_order_sequence);
}

TEST_F(ProducerStateTest, zero_follows_the_largest_sequence) {
  state.append(header(0, sequence_max - 2, 3));
  EXPECT_TRUE(accepts(header(3, 0, 1)));
  EXPECT_EQ(refusal(header(3, 1, 1)), ErrorKind::out_of_order_sequence);
}

TEST_F(ProducerStateTest, a_batch_may_wrap_within) {
  state.append(header(0, sequence_max - 3, 1));
  ASSERT_TRUE(accepts(header(1, sequence_max - 2, 5)));
  state.append(header(1, sequence_max - 2, 5));
  EXPECT_EQ(state.find(ProducerId{1})->last_sequence(), 1);
  EXPECT_EQ(state.find(ProducerId{1})->known_batches().back().first_sequence(), sequence_max - 2);
  EXPECT_EQ(state.find_duplicate(header(99, sequence_max - 2, 5))->base_offset(), Offset{1});
  EXPECT_TRUE(accepts(header(6, 2, 1)));
}

TEST_F(ProducerStateTest, the_last_five_batches_are_known_as_duplicates) {
  for (int i = 0; i < 7; ++i) state.append(header(10 * i, i, 1));
  for (int i = 2; i < 7; ++i) {
    const auto duplicate = state.find_duplicate(header(999, i, 1));
    ASSERT_TRUE(duplicate) << i;
    EXPECT_EQ(duplicate->base_offset(), Offset(10 * i));
  }
  EXPECT_FALSE(state.find_duplicate(header(999, 1, 1)));
  EXPECT_EQ(refusal(header(999, 1, 1)), ErrorKind::out_of_order_sequence);
  // The same sequences in another cut, or in another epoch, are no repeat.
  EXPECT_FALSE(state.find_duplicate(header(999, 5, 2)));
  EXPECT_FALSE(state.find_duplicate(header(999, 6, 1, 1)));
}

TEST_F(ProducerStateTest, a_new_epoch_begins_at_zero_and_fences_the_old_one) {
  state.append(header(0, 0, 3));
  EXPECT_EQ(refusal(header(3, 3, 1, 1)), ErrorKind::out_of_order_sequence);
  ASSERT_TRUE(accepts(header(3, 0, 1, 1)));
  state.append(header(3, 0, 1, 1));
  EXPECT_EQ(refusal(header(4, 3, 1, 0)), ErrorKind::invalid_producer_epoch);
  EXPECT_FALSE(state.find_duplicate(header(0, 0, 3, 0)));
}

TEST_F(ProducerStateTest, coordinators_are_checked_for_the_epoch_only_and_replicas_not_at_all) {
  state.append(header(0, 0, 3, 5));
  EXPECT_TRUE(accepts(header(3, 77, 1, 5), AppendOrigin::coordinator));
  EXPECT_EQ(refusal(header(3, 0, 1, 4), AppendOrigin::coordinator), ErrorKind::invalid_producer_epoch);
  EXPECT_TRUE(accepts(header(3, 0, 1, 4), AppendOrigin::replication));
}

TEST_F(ProducerStateTest, after_a_marker_the_epoch_begins_anew) {
  state.append(transactional(header(0, 0, 3)));
  state.append_marker(control(3, 1), {.abort = false, .coordinator_epoch = 0, .timestamp = TimestampMs{9}});
  EXPECT_EQ(refusal(header(4, 3, 1, 1)), ErrorKind::out_of_order_sequence);
  EXPECT_TRUE(accepts(header(4, 0, 1, 1)));
}

TEST_F(ProducerStateTest,
       an_open_transaction_holds_the_stable_offset_until_its_marker_is_below_the_high_watermark) {
  EXPECT_FALSE(state.first_unstable_offset(Offset{0}));
  state.append(transactional(header(5, 0, 3)));
  state.append(transactional(header(8, 0, 1, 0, 2)));
  EXPECT_EQ(state.first_unstable_offset(Offset{9}), Offset{5});
  const auto done =
      state.append_marker(control(9), {.abort = true, .coordinator_epoch = 1, .timestamp = TimestampMs{9}});
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, (CompletedTransaction{ProducerId{1}, Offset{5}, Offset{9}, true}));
  EXPECT_EQ(state.stable_offset_after(*done), Offset{8});
  EXPECT_EQ(state.first_unstable_offset(Offset{9}), Offset{5});
  EXPECT_EQ(state.first_unstable_offset(Offset{10}), Offset{8});
  state.append_marker(control(10, 0, 2),
                      {.abort = false, .coordinator_epoch = 1, .timestamp = TimestampMs{9}});
  EXPECT_EQ(state.first_unstable_offset(Offset{11}), std::nullopt);
  EXPECT_FALSE(state.has_unstable());
}

TEST_F(ProducerStateTest, a_marker_without_a_transaction_ends_none) {
  EXPECT_FALSE(
      state.append_marker(control(0), {.abort = true, .coordinator_epoch = 1, .timestamp = TimestampMs{9}}));
  EXPECT_EQ(state.find(ProducerId{1})->coordinator_epoch, 1);
}

TEST_F(ProducerStateTest, markers_of_older_coordinators_and_epochs_are_refused) {
  state.append(transactional(header(0, 0, 1, 3)));
  state.append_marker(control(1, 3), {.abort = false, .coordinator_epoch = 7, .timestamp = TimestampMs{9}});
  const EndTransactionMarker old_coordinator{
      .abort = false, .coordinator_epoch = 6, .timestamp = TimestampMs{9}};
  const EndTransactionMarker same{.abort = false, .coordinator_epoch = 7, .timestamp = TimestampMs{9}};
  EXPECT_EQ(state.check_marker(control(2, 3), old_coordinator, AppendOrigin::coordinator).error().kind,
            ErrorKind::invalid);
  EXPECT_EQ(state.check_marker(control(2, 2), same, AppendOrigin::coordinator).error().kind,
            ErrorKind::invalid_producer_epoch);
  EXPECT_TRUE(state.check_marker(control(2, 3), same, AppendOrigin::coordinator));
}

TEST_F(ProducerStateTest, a_plain_batch_within_a_transaction_is_refused) {
  state.append(transactional(header(0, 0, 1)));
  EXPECT_EQ(refusal(header(1, 1, 1)), ErrorKind::invalid);
  EXPECT_TRUE(accepts(transactional(header(1, 1, 1))));
}

TEST_F(ProducerStateTest, silent_producers_expire_unless_a_transaction_is_open) {
  state.append(header(0, 0, 1));
  state.append(transactional(header(1, 0, 1, 0, 2)));
  EXPECT_EQ(state.expire(TimestampMs{1'500}, 501), 0u);
  EXPECT_EQ(state.expire(TimestampMs{1'500}, 500), 1u);
  EXPECT_EQ(state.expire(TimestampMs{1'000'000}, 500), 0u);
  EXPECT_EQ(state.find(ProducerId{1}), nullptr);
}

TEST_F(ProducerStateTest, moving_the_log_start_forgets_no_producer) {
  state.append(header(0, 0, 3));
  state.log_start_moved(Offset{3});
  EXPECT_TRUE(state.find_duplicate(header(0, 0, 3)));
  EXPECT_EQ(refusal(header(3, 9, 1)), ErrorKind::out_of_order_sequence);
}

TEST(ProducerSnapshot, is_kafkas_to_the_byte) {
  ProducerState state;
  ProducerStateEntry first;
  first.producer_id = ProducerId{1};
  first.add_batch(ProducerEpoch{0}, {9, 0, Offset{9}, TimestampMs{0x18bcfe5685a}});
  ProducerStateEntry second;
  second.producer_id = ProducerId{2};
  second.epoch = ProducerEpoch{4};
  second.coordinator_epoch = 0;
  second.last_timestamp = TimestampMs{0x1a227c5618e};
  const auto bytes = producer_snapshot::format({first, second});
  std::string hex;
  for (std::byte byte : bytes) {
    hex += "0123456789abcdef"[std::to_integer<int>(byte >> 4)];
    hex += "0123456789abcdef"[std::to_integer<int>(byte & std::byte{15})];
  }
  EXPECT_EQ(hex,
            "00015994dc240000000200000000000000010000000000090000000000000009000000000000018bcfe5685affffffff"
            "ffffffffffffffff"
            "00000000000000020004ffffffffffffffffffffffff00000000000001a227c5618e00000000ffffffffffffffff");
  const auto back = producer_snapshot::parse(bytes);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ(back->at(0).last_sequence(), 9);
  EXPECT_FALSE(back->at(0).history_complete);
  EXPECT_TRUE(back->at(1).empty());
}

TEST(ProducerSnapshot, damage_is_found) {
  ProducerStateEntry entry;
  entry.producer_id = ProducerId{1};
  const auto good = producer_snapshot::format({entry});
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto damaged = good;
    damaged[i] ^= std::byte{0x40};
    EXPECT_FALSE(producer_snapshot::parse(damaged)) << i;
    EXPECT_FALSE(producer_snapshot::parse(ByteView(good).first(i))) << i;
  }
}

TEST(TransactionMarker, is_read_from_a_control_batch) {
  const auto bytes = test::marker(5, /*abort=*/true, 12);
  const auto found = read_end_transaction_marker(protocol::RecordBatchView::trusted(bytes));
  ASSERT_TRUE(found && *found);
  EXPECT_TRUE((*found)->abort);
  EXPECT_EQ((*found)->coordinator_epoch, 12);
}

}  // namespace
}  // namespace barnabas::storage
