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
            ErrorKind::coordinator_fenced);
  EXPECT_EQ(state.check_marker(control(2, 2), same, AppendOrigin::coordinator).error().kind,
            ErrorKind::invalid_producer_epoch);
  EXPECT_TRUE(state.check_marker(control(2, 3), same, AppendOrigin::coordinator));
}

TEST_F(ProducerStateTest, a_plain_batch_within_a_transaction_is_refused) {
  state.append(transactional(header(0, 0, 1)));
  EXPECT_EQ(refusal(header(1, 1, 1)), ErrorKind::invalid_transaction_state);
  EXPECT_TRUE(accepts(transactional(header(1, 1, 1))));
}

TEST_F(ProducerStateTest, a_marker_of_version_2_has_a_newer_epoch_than_what_it_ends) {
  state.append(transactional(header(0, 0, 1, 3)));
  const EndTransactionMarker marker{.abort = false, .coordinator_epoch = 7, .timestamp = TimestampMs{9}};
  const auto check = [&](int16_t epoch, int16_t version) {
    return state.check_marker(control(1, epoch), marker, AppendOrigin::coordinator, version);
  };
  EXPECT_TRUE(check(3, 1)) << "as it was before";
  EXPECT_EQ(check(3, 2).error().kind, ErrorKind::invalid_producer_epoch);
  ASSERT_TRUE(check(4, 2));
  state.append_marker(control(1, 4), marker);
  EXPECT_TRUE(check(4, 2)) << "the same marker once more ends nothing and does no harm";
  EXPECT_EQ(check(3, 2).error().kind, ErrorKind::invalid_producer_epoch);
}

TEST_F(ProducerStateTest, the_last_epoch_is_ended_by_a_marker_of_its_own) {
  constexpr int16_t last = std::numeric_limits<int16_t>::max();
  state.append(transactional(header(0, 0, 1, last)));
  const EndTransactionMarker marker{.abort = true, .coordinator_epoch = 7, .timestamp = TimestampMs{9}};
  EXPECT_TRUE(state.check_marker(control(1, last), marker, AppendOrigin::coordinator, 2));
}

class VerificationTest : public ProducerStateTest {
 protected:
  static constexpr TimestampMs now{5'000};
  VerificationGuard begin(int32_t sequence, int16_t epoch = 0, bool adds_partition = true) {
    const auto guard = state.begin_verification({.producer_id = ProducerId{1},
                                                 .epoch = ProducerEpoch{epoch},
                                                 .sequence = sequence,
                                                 .adds_partition = adds_partition},
                                                VerificationGuard{++guards}, now);
    EXPECT_TRUE(guard) << guard.error().message;
    return guard.value_or(no_guard);
  }
  Result<void> check(const RecordBatchHeader& batch, VerificationGuard guard = no_guard) {
    return state.check(batch, AppendOrigin::client, {.must_be_verified = true, .guard = guard});
  }
  ErrorKind refused(const RecordBatchHeader& batch, VerificationGuard guard = no_guard) {
    const auto checked = check(batch, guard);
    EXPECT_FALSE(checked);
    return checked ? ErrorKind::io : checked.error().kind;
  }
  void end(int64_t offset, int16_t epoch) {
    state.append_marker(control(offset, epoch), {.abort = true, .coordinator_epoch = 1, .timestamp = now});
  }
  int64_t guards = 0;
};

TEST_F(VerificationTest, a_transaction_begins_only_with_a_guard_and_goes_on_without) {
  const auto first = transactional(header(0, 0, 1));
  EXPECT_EQ(refused(first), ErrorKind::invalid_transaction_state);
  const VerificationGuard guard = begin(0);
  EXPECT_EQ(refused(first), ErrorKind::invalid_transaction_state) << "being asked is not enough";
  ASSERT_TRUE(check(first, guard));
  state.append(first);
  EXPECT_EQ(begin(1), no_guard) << "nobody has to be asked while it is open";
  EXPECT_TRUE(check(transactional(header(1, 1, 1))));
}

TEST_F(VerificationTest, without_verification_any_batch_begins_a_transaction) {
  EXPECT_TRUE(state.check(transactional(header(0, 0, 1)), AppendOrigin::client));
}

TEST_F(VerificationTest, a_marker_makes_a_guard_worthless_even_if_it_is_asked_again_meanwhile) {
  const VerificationGuard stale = begin(0);
  end(0, 0);
  EXPECT_EQ(refused(transactional(header(1, 0, 1)), stale), ErrorKind::invalid_transaction_state);
  const VerificationGuard fresh = begin(0);
  EXPECT_NE(fresh, stale);
  EXPECT_EQ(refused(transactional(header(1, 0, 1)), stale), ErrorKind::invalid_transaction_state);
  EXPECT_TRUE(check(transactional(header(1, 0, 1)), fresh));
}

TEST_F(VerificationTest, a_guard_for_an_earlier_transaction_of_the_same_epoch_does_not_join_the_next_one) {
  const VerificationGuard earlier = begin(0, 0, false);
  const RecordBatchHeader first = transactional(header(0, 0, 1));
  ASSERT_TRUE(check(first, earlier));
  state.append(first);
  EXPECT_TRUE(check(transactional(header(1, 1, 1)), earlier)) << "asked for at the same time";
  end(2, 0);
  const VerificationGuard later = begin(1, 0, false);
  const RecordBatchHeader second = transactional(header(3, 1, 1));
  ASSERT_TRUE(check(second, later));
  state.append(second);
  EXPECT_EQ(refused(transactional(header(4, 2, 1)), earlier), ErrorKind::invalid_transaction_state);
  EXPECT_TRUE(check(transactional(header(4, 2, 1)), later));
  EXPECT_TRUE(check(transactional(header(4, 2, 1))));
}

TEST_F(VerificationTest, a_refusal_of_a_newer_epoch_leaves_the_open_transaction_its_guard) {
  const VerificationGuard earlier = begin(0, 0, false);
  end(0, 0);
  const RecordBatchHeader first = transactional(header(1, 0, 1));
  ASSERT_TRUE(check(first, begin(0, 0, false)));
  state.append(first);
  state.refuse_verification(ProducerId{1}, begin(0, 1, false));
  EXPECT_EQ(refused(transactional(header(2, 1, 1)), earlier), ErrorKind::invalid_transaction_state);
  EXPECT_TRUE(check(transactional(header(2, 1, 1))));
}

TEST_F(VerificationTest, a_batch_behind_the_abort_of_its_transaction_is_refused) {
  const VerificationGuard guard = begin(0, 3, false);
  state.append(transactional(header(0, 0, 1, 3)));
  end(1, 3);
  EXPECT_EQ(refused(transactional(header(2, 1, 1, 3)), guard), ErrorKind::invalid_transaction_state);
  end(2, 4);
  EXPECT_EQ(refused(transactional(header(3, 1, 1, 3)), guard), ErrorKind::invalid_producer_epoch);
}

TEST_F(VerificationTest, an_older_epoch_is_not_even_asked_for) {
  state.append(header(0, 0, 1, 5));
  const auto guard = state.begin_verification(
      {.producer_id = ProducerId{1}, .epoch = ProducerEpoch{4}, .sequence = 0}, VerificationGuard{1}, now);
  ASSERT_FALSE(guard);
  EXPECT_EQ(guard.error().kind, ErrorKind::invalid_producer_epoch);
}

TEST_F(VerificationTest, an_open_transaction_of_an_older_epoch_does_not_speak_for_a_newer_one) {
  begin(0, 3);
  state.append(transactional(header(0, 0, 1, 3)));
  EXPECT_NE(begin(0, 4), no_guard);
  EXPECT_EQ(refused(transactional(header(1, 0, 1, 4))), ErrorKind::invalid_transaction_state);
}

TEST_F(VerificationTest, a_later_batch_does_not_come_before_one_that_was_asked_for) {
  begin(5, 0, false);
  const VerificationGuard guard = begin(3, 0, false);
  EXPECT_EQ(refused(transactional(header(0, 5, 1)), guard), ErrorKind::out_of_order_sequence);
  EXPECT_TRUE(check(transactional(header(0, 3, 1)), guard)) << "an unknown producer may begin anywhere";
}

TEST_F(VerificationTest, a_transaction_of_version_2_begins_at_zero) {
  const VerificationGuard guard = begin(3);
  EXPECT_EQ(refused(transactional(header(0, 3, 1)), guard), ErrorKind::out_of_order_sequence);
}

TEST_F(VerificationTest, a_newer_epoch_forgets_the_sequences_of_the_older_one) {
  begin(0, 0, false);
  const VerificationGuard guard = begin(7, 1, false);
  EXPECT_TRUE(check(transactional(header(0, 7, 1, 1)), guard));
}

TEST_F(VerificationTest, a_refused_zombie_takes_nothing_from_the_producer_that_fenced_it) {
  const VerificationGuard early = begin(0, 0);
  const VerificationGuard guard = begin(0, 1);
  const VerificationGuard late = begin(5, 0);
  for (const VerificationGuard zombie : {early, late}) {
    EXPECT_EQ(refused(transactional(header(0, 5, 1, 0)), zombie), ErrorKind::invalid_transaction_state);
    state.refuse_verification(ProducerId{1}, zombie);
  }
  EXPECT_TRUE(check(transactional(header(0, 0, 1, 1)), guard));
}

TEST_F(VerificationTest, what_the_coordinator_refused_and_what_is_old_is_forgotten) {
  const VerificationGuard guard = begin(0);
  state.refuse_verification(ProducerId{1}, guard + 1);
  EXPECT_EQ(state.verifications().size(), 1u) << "that was another question";
  state.refuse_verification(ProducerId{1}, guard);
  EXPECT_EQ(state.verifications().size(), 0u);
  begin(0);
  state.expire(now + 499, 500);
  EXPECT_EQ(state.verifications().size(), 1u);
  state.expire(now + 500, 500);
  EXPECT_EQ(state.verifications().size(), 0u);
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
