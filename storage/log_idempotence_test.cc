#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/log_fixture.h"
#include "storage/transaction_index.h"

namespace barnabas::storage {
namespace {

using namespace test;

class LogIdempotenceTest : public ::testing::Test {
 protected:
  void SetUp() override { log.open(); }
  static BatchShape of(int32_t sequence, int32_t records = 1, int16_t epoch = 0) {
    return {.records = records, .producer_id = 42, .producer_epoch = epoch, .sequence = sequence};
  }
  TestLog log;
};

TEST_F(LogIdempotenceTest, a_repeat_gets_its_old_offsets_and_is_not_stored) {
  log.append(batch(2));
  const AppendResult first = log.append(batch(of(0, 3)));
  const uint64_t size = log.log->size_bytes();
  const AppendResult again = log.append(batch(of(0, 3)));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.base_offset, first.base_offset);
  EXPECT_EQ(again.last_offset, first.last_offset);
  EXPECT_EQ(again.max_timestamp, first.max_timestamp);
  EXPECT_EQ(log.log->size_bytes(), size);
}

TEST_F(LogIdempotenceTest, gaps_and_old_epochs_are_refused_and_take_no_offset) {
  log.append(batch(of(0, 3, 1)));
  EXPECT_EQ(log.try_append(batch(of(4, 1, 1))).error().kind, ErrorKind::out_of_order_sequence);
  EXPECT_EQ(log.try_append(batch(of(3, 1, 0))).error().kind, ErrorKind::invalid_producer_epoch);
  EXPECT_EQ(log.append(batch(of(3, 1, 1))).base_offset, Offset{3});
}

TEST_F(LogIdempotenceTest, more_than_one_batch_at_once_is_refused) {
  Bytes both = batch(of(0));
  const Bytes second = batch(of(1));
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(log.try_append(both).error().kind, ErrorKind::invalid);
  EXPECT_EQ(log.end(), Offset{0});
}

// The snapshot holds the newest batch only; the other four are found in the log.
TEST_F(LogIdempotenceTest, the_last_five_batches_survive_a_clean_restart) {
  for (int i = 0; i < 7; ++i) {
    log.append(batch(of(i)));
    log.append(batch(1));
  }
  log.reopen();
  for (int i = 2; i < 7; ++i) {
    const AppendResult again = log.append(batch(of(i)));
    EXPECT_TRUE(again.duplicate) << i;
    EXPECT_EQ(again.base_offset, Offset(2 * i));
  }
  EXPECT_EQ(log.try_append(batch(of(1))).error().kind, ErrorKind::out_of_order_sequence);
  EXPECT_EQ(log.append(batch(of(7))).base_offset, Offset{14});
}

TEST_F(LogIdempotenceTest, the_last_five_batches_are_found_over_several_segments) {
  log.config.segment_bytes = 300;
  log.open();
  for (int i = 0; i < 7; ++i) log.append(batch(of(i)));
  ASSERT_GE(log.log->segments().size(), 3u);
  log.reopen();
  log.append(batch(of(7)));
  EXPECT_EQ(log.append(batch(of(3))).base_offset, Offset{3});
}

TEST_F(LogIdempotenceTest, state_survives_the_death_of_the_process) {
  for (int i = 0; i < 7; ++i) log.append(batch(of(i)));
  log.crash();
  for (int i = 2; i < 7; ++i) EXPECT_TRUE(log.append(batch(of(i))).duplicate) << i;
  EXPECT_EQ(log.try_append(batch(of(8))).error().kind, ErrorKind::out_of_order_sequence);
}

TEST_F(LogIdempotenceTest, state_survives_delete_records_and_retention_and_restarts) {
  log.append(batch(of(0, 3)));
  ASSERT_TRUE(log.log->delete_records_before(Offset{3}));
  EXPECT_TRUE(log.append(batch(of(0, 3))).duplicate);
  log.flush();
  LogConfig none = log.config;
  none.retention_bytes = 0;
  log.log->set_config(std::make_shared<LogConfig>(none));
  ASSERT_EQ(log.log->apply_retention(log.now, log.end())->segments_deleted, 1);
  EXPECT_EQ(log.log->size_bytes(), 0u);
  log.checkpoint();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(log.append(batch(of(0, 3))).base_offset, Offset{0}) << round;
    EXPECT_EQ(log.try_append(batch(of(9))).error().kind, ErrorKind::out_of_order_sequence) << round;
    if (round == 0) log.crash();
    if (round == 1) log.reopen();
  }
  EXPECT_EQ(log.append(batch(of(3))).base_offset, Offset{3});
}

TEST_F(LogIdempotenceTest, a_damaged_snapshot_is_replaced_by_the_log) {
  for (int i = 0; i < 3; ++i) log.append(batch(of(i)));
  ASSERT_TRUE(log.log->close_clean());
  log.checkpoint();
  log.log.reset();
  log.disk.put_file(log.path(Offset{3}, ".snapshot"), "rubbish");
  log.open(/*clean=*/true);
  EXPECT_TRUE(log.append(batch(of(0))).duplicate);
  EXPECT_EQ(log.append(batch(of(3))).base_offset, Offset{3});
}

TEST_F(LogIdempotenceTest, expired_producers_may_begin_anywhere) {
  log.config.producer_id_expiration_ms = 1'000;
  log.open();
  log.append(batch(of(0, 3)));
  log.log->expire_producers(TimestampMs{1'002 + 999});
  EXPECT_EQ(log.log->producers().size(), 1u);
  log.log->expire_producers(TimestampMs{1'002 + 1'000});
  EXPECT_EQ(log.log->producers().size(), 0u);
  EXPECT_EQ(log.append(batch(of(17))).base_offset, Offset{3});
}

TEST_F(LogIdempotenceTest, truncation_takes_producers_back) {
  for (int i = 0; i < 5; ++i) log.append(batch(of(i)));
  ASSERT_TRUE(log.log->truncate_to(Offset{2}));
  EXPECT_EQ(log.append(batch(of(2))).base_offset, Offset{2});
}

class LogTransactionTest : public LogIdempotenceTest {
 protected:
  static BatchShape in_transaction(int64_t producer, int32_t sequence, int32_t records = 1) {
    return {.records = records, .producer_id = producer, .sequence = sequence, .transactional = true};
  }
  void end(int64_t producer, bool abort) { log.append(marker(producer, abort), AppendOrigin::coordinator); }
};

TEST_F(LogTransactionTest, the_last_stable_offset_waits_for_the_oldest_transaction) {
  log.append(batch(2));
  EXPECT_EQ(log.log->last_stable_offset(Offset{2}), Offset{2});
  log.append(batch(in_transaction(1, 0, 2)));  // 2, 3
  log.append(batch(in_transaction(2, 0)));     // 4
  EXPECT_EQ(log.log->last_stable_offset(log.end()), Offset{2});
  end(1, false);  // 5
  EXPECT_EQ(log.log->last_stable_offset(Offset{5}), Offset{2})
      << "the marker is not below the high watermark";
  EXPECT_EQ(log.log->last_stable_offset(Offset{6}), Offset{4});
  end(2, true);
  EXPECT_EQ(log.log->last_stable_offset(log.end()), log.end());
}

TEST_F(LogTransactionTest, aborted_transactions_are_indexed_as_kafka_does) {
  log.append(batch(in_transaction(1, 0, 2)));  // 0, 1
  log.append(batch(in_transaction(2, 0)));     // 2
  end(1, true);                                // 3
  end(2, true);                                // 4
  log.append(batch(in_transaction(3, 0)));     // 5
  end(3, false);                               // 6
  const AbortedTransaction first{ProducerId{1}, Offset{0}, Offset{3}, Offset{2}};
  const AbortedTransaction second{ProducerId{2}, Offset{2}, Offset{4}, Offset{5}};
  EXPECT_THAT(log.log->aborted_transactions(Offset{0}, log.end()).value(),
              ::testing::ElementsAre(first, second));
  EXPECT_THAT(log.log->aborted_transactions(Offset{4}, log.end()).value(), ::testing::ElementsAre(second));
  EXPECT_THAT(log.log->aborted_transactions(Offset{0}, Offset{2}).value(), ::testing::ElementsAre(first));
  EXPECT_THAT(log.log->aborted_transactions(Offset{5}, log.end()).value(), ::testing::IsEmpty());
  const std::string before = *log.disk.content(log.path(Offset{0}, ".txnindex"));
  EXPECT_EQ(before.size(), 2 * transaction_index::entry_bytes);
  log.crash();
  EXPECT_EQ(*log.disk.content(log.path(Offset{0}, ".txnindex")), before) << "made again from the markers";
  log.reopen();
  EXPECT_EQ(log.log->aborted_transactions(Offset{0}, log.end())->size(), 2u);
}

TEST_F(LogTransactionTest, an_open_transaction_survives_restarts) {
  log.append(batch(1));
  log.append(batch(in_transaction(1, 0)));
  log.append(batch(1));
  log.reopen();
  EXPECT_EQ(log.log->last_stable_offset(log.end()), Offset{1});
  log.crash();
  EXPECT_EQ(log.log->last_stable_offset(log.end()), Offset{1});
  end(1, true);
  EXPECT_EQ(log.log->last_stable_offset(log.end()), log.end());
  EXPECT_EQ(log.log->aborted_transactions(Offset{0}, log.end())->size(), 1u);
}

TEST_F(LogTransactionTest, readers_do_not_wait_for_appends_to_know_the_last_stable_offset) {
  log.append(batch(in_transaction(1, 0)));  // 0
  log.append(batch(in_transaction(2, 0)));  // 1
  end(1, true);                             // 2
  EXPECT_EQ(log.log->last_stable_offset(Offset{3}), Offset{1});
  EXPECT_EQ(log.log->last_stable_offset(Offset{1}), Offset{1});
  end(2, true);  // 3
  EXPECT_EQ(log.log->last_stable_offset(Offset{3}), Offset{1}) << "the marker is not below";
  EXPECT_EQ(log.log->last_stable_offset(Offset{4}), Offset{4});
  log.append(batch(in_transaction(1, 1)));  // 4
  EXPECT_EQ(log.log->last_stable_offset(Offset{5}), Offset{4});
  ASSERT_TRUE(log.log->delete_records_before(Offset{5}));
  EXPECT_EQ(log.log->last_stable_offset(Offset{5}), Offset{5});
}

// What reading committed records costs does not grow with the aborts that the log has seen.
TEST_F(LogTransactionTest, aborts_elsewhere_cost_a_reader_nothing_and_those_in_the_middle_a_search) {
  constexpr int aborts = 3'000;
  for (int i = 0; i < aborts; ++i) {
    log.append(batch(in_transaction(1, i)));  // 2i
    end(1, true);                             // 2i + 1
  }
  log.reopen();
  for (const bool again : {false, true}) {
    log.disk.reset_counters();
    EXPECT_THAT(log.log->aborted_transactions(log.end(), log.end()).value(), ::testing::IsEmpty());
    if (again) {
      EXPECT_EQ(log.disk.calls(), 0u) << "nothing is asked for what was found before";
    }
    for (const int64_t from : {0, 1, 1'999, 2'000, 2 * aborts - 1}) {
      log.disk.reset_counters();
      const auto found = log.log->aborted_transactions(Offset{from}, Offset{from + 1}).value();
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].first_offset, Offset{from / 2 * 2});
      EXPECT_LE(log.disk.calls(io::DiskCall::read), 16u) << from;
    }
  }
  EXPECT_EQ(log.log->aborted_transactions(Offset{0}, log.end())->size(), std::size_t{aborts});
  EXPECT_EQ(log.log->aborted_transactions(Offset{1'000}, Offset{3'000})->size(), 1'000u);
  log.disk.reset_counters();
  log.append(batch(in_transaction(1, aborts)));
  end(1, true);
  EXPECT_EQ(log.log->aborted_transactions(Offset{2 * aborts}, log.end())->size(), 1u);
}

TEST_F(LogTransactionTest, aborts_over_several_segments_are_found_from_each_place) {
  log.config.segment_bytes = 600;
  log.open();
  for (int i = 0; i < 20; ++i) {
    log.append(batch(in_transaction(1, i)));
    end(1, i % 2 == 0);
  }
  log.append(batch(in_transaction(2, 0)));  // 40: its marker is segments away
  for (int i = 20; i < 30; ++i) {
    log.append(batch(in_transaction(1, i)));
    end(1, i % 2 == 0);
  }
  end(2, true);  // 61
  ASSERT_GE(log.log->segments().size(), 8u);
  for (int64_t from = 0; from < log.end().value(); ++from)
    for (int64_t to = from + 1; to <= log.end().value(); to += 3) {
      std::vector<int64_t> expected;
      for (int64_t i = 0; i < 30; i += 2) {
        const int64_t first = i < 20 ? 2 * i : 2 * i + 1;
        if (first + 1 >= from && first < to) expected.push_back(first);
      }
      if (to > 40) expected.push_back(40);
      std::vector<int64_t> found;
      const auto listed = log.log->aborted_transactions(Offset{from}, Offset{to}).value();
      for (const AbortedTransaction& one : listed) found.push_back(one.first_offset.value());
      EXPECT_EQ(found, expected) << from << " to " << to;
    }
}

TEST_F(LogTransactionTest, a_marker_of_a_newer_epoch_ends_the_transaction_and_late_batches_are_refused) {
  log.append(batch(in_transaction(1, 0)));
  log.append(marker(1, true, 3, /*producer_epoch=*/1), AppendOrigin::coordinator);
  for (const bool restarted : {false, true}) {
    const auto late = log.try_append(batch(in_transaction(1, 1)));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, ErrorKind::invalid_producer_epoch);
    EXPECT_EQ(log.try_append(marker(1, true, 2, 1), AppendOrigin::coordinator).error().kind,
              ErrorKind::coordinator_fenced);
    if (!restarted) log.reopen();
  }
  EXPECT_EQ(log.log->last_stable_offset(log.end()), log.end());
}

TEST_F(LogTransactionTest, a_question_that_is_asked_does_not_survive_a_restart) {
  const auto ask = [&] {
    return log.log->begin_verification(
        {.producer_id = ProducerId{1}, .epoch = ProducerEpoch{0}, .sequence = 0}, VerificationGuard{7},
        log.now);
  };
  ASSERT_EQ(ask().value(), VerificationGuard{7});
  const auto append = [&](VerificationGuard guard) {
    Bytes bytes = batch(in_transaction(1, 0));
    return log.log->append_as_leader(bytes, log.epoch, log.now, AppendOrigin::client,
                                     {.must_be_verified = true, .guard = guard});
  };
  log.reopen();
  EXPECT_EQ(append(VerificationGuard{7}).error().kind, ErrorKind::invalid_transaction_state);
  ASSERT_EQ(ask().value(), VerificationGuard{7});
  EXPECT_EQ(append(VerificationGuard{8}).error().kind, ErrorKind::invalid_transaction_state);
  EXPECT_TRUE(append(VerificationGuard{7}));
  EXPECT_EQ(ask().value(), no_guard);
}

TEST_F(LogTransactionTest, an_open_transaction_outlives_retention_rolls_and_expiry) {
  log.config.segment_bytes = 300;
  log.config.producer_id_expiration_ms = 1'000;
  log.open();
  log.append(batch(in_transaction(1, 0)));  // 0
  for (int i = 0; i < 10; ++i) log.append(batch(1));
  log.flush();
  LogConfig none = log.config;
  none.retention_bytes = 0;
  log.log->set_config(std::make_shared<LogConfig>(none));
  ASSERT_GE(log.log->apply_retention(log.now, log.end())->segments_deleted, 3);
  log.log->expire_producers(log.now + 1'000'000);
  const Offset held = log.start();
  EXPECT_EQ(log.log->last_stable_offset(log.end()), held);
  log.checkpoint();
  for (const bool killed : {true, false}) {
    if (killed)
      log.crash();
    else
      log.reopen();
    EXPECT_EQ(log.log->last_stable_offset(log.end()), held);
    ASSERT_EQ(log.log->producers().size(), 1u);
    EXPECT_EQ(log.log->producers()[0].current_txn_first_offset, Offset{0});
  }
  end(1, true);
  EXPECT_EQ(log.log->last_stable_offset(log.end()), log.end());
}

TEST_F(LogTransactionTest, truncation_forgets_aborts_behind_it) {
  log.append(batch(in_transaction(1, 0)));
  end(1, true);
  log.append(batch(in_transaction(2, 0)));
  end(2, true);
  ASSERT_TRUE(log.log->truncate_to(Offset{2}));
  EXPECT_EQ(log.log->aborted_transactions(Offset{0}, log.end())->size(), 1u);
}

TEST_F(LogTransactionTest, an_abort_that_cannot_be_indexed_is_not_appended) {
  log.append(batch(in_transaction(1, 0)));
  log.disk.add_fault({.call = io::DiskCall::write, .path_part = ".txnindex", .system_error = ENOSPC});
  EXPECT_EQ(log.try_append(marker(1, true), AppendOrigin::coordinator).error().kind, ErrorKind::no_space);
  EXPECT_EQ(log.end(), Offset{1});
  EXPECT_EQ(log.log->last_stable_offset(log.end()), Offset{0});
  end(1, true);
  EXPECT_EQ(log.log->aborted_transactions(Offset{0}, log.end())->size(), 1u);
}

}  // namespace
}  // namespace barnabas::storage
