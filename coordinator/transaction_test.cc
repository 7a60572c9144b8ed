#include <gtest/gtest.h>

#include "coordinator/transaction_test_support.h"

/// Whole transactions, from the first id to the end.
namespace barnabas::coordinator::testing {
namespace {

TEST(Transactions, a_new_id_gets_a_new_producer_id_with_epoch_0) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  EXPECT_EQ(producer.id, ProducerId(1000));
  EXPECT_EQ(producer.epoch, ProducerEpoch(0));
  EXPECT_EQ(scene.describe("a"), "Empty 1000/0");
  EXPECT_EQ(scene.init("b").id, ProducerId(1001));
}

TEST(Transactions, version_1_commits_what_was_added_and_keeps_its_epoch) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  EXPECT_EQ(scene.add("a", producer, "t", {0, 2}), ErrorCode::none);
  EXPECT_EQ(scene.ask_add_offsets("a", producer, 7)->response(), ErrorCode::none);
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0 __consumer_offsets:7 t:0,2");
  EXPECT_EQ(scene.end("a", producer, true), ErrorCode::none);
  EXPECT_EQ(scene.describe("a"), "PrepareCommit 1000/0 __consumer_offsets:7 t:0,2");
  ASSERT_EQ(scene.effects().markers.size(), 1u);
  const TransactionMarkers& markers = scene.effects().markers[0];
  EXPECT_TRUE(markers.committed);
  EXPECT_EQ(markers.producer_epoch, ProducerEpoch(0));
  EXPECT_EQ(markers.coordinator_epoch, 7);
  EXPECT_EQ(markers.transaction_version, 0);
  EXPECT_EQ(markers.partitions, (TransactionPartitions{{"__consumer_offsets", {7}}, {"t", {0, 2}}}));
  scene.write_markers();
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
}

TEST(Transactions, version_2_gives_a_new_epoch_at_each_end) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  EXPECT_EQ(scene.add("a", producer, "t", {1}, 5), ErrorCode::none);
  const Producer next = scene.producer_of(scene.ask_end("a", producer, false, 5)->response());
  EXPECT_EQ(next.id, producer.id);
  EXPECT_EQ(next.epoch, ProducerEpoch(1));
  ASSERT_EQ(scene.effects().markers.size(), 1u);
  EXPECT_FALSE(scene.effects().markers[0].committed);
  EXPECT_EQ(scene.effects().markers[0].producer_epoch, ProducerEpoch(1));
  EXPECT_EQ(scene.effects().markers[0].transaction_version, 2);
  EXPECT_EQ(scene.describe("a"), "PrepareAbort 1000/1 t:1");
  scene.write_markers();
  EXPECT_EQ(scene.describe("a"), "CompleteAbort 1000/1");
  EXPECT_EQ(scene.add("a", producer, "t", {1}, 5), ErrorCode::producer_fenced);
  EXPECT_EQ(scene.add("a", next, "t", {1}, 5), ErrorCode::none);
}

TEST(Transactions, a_crash_at_every_record_leaves_a_transaction_that_is_carried_on) {
  TransactionScene scene;
  const Producer first = scene.init("a");
  scene.add("a", first, "t", {0, 1}, 5);
  const Producer second = scene.producer_of(scene.ask_end("a", first, true, 5)->response());
  scene.write_markers();
  scene.add("a", second, "u", {2}, 5);
  scene.ask_end("a", second, false, 5);
  scene.write_markers();
  const std::vector<std::string> states = {"105",
                                           "Empty 1000/0",
                                           "Ongoing 1000/0 t:0,1",
                                           "PrepareCommit 1000/1 t:0,1",
                                           "CompleteCommit 1000/1",
                                           "Ongoing 1000/1 u:2",
                                           "PrepareAbort 1000/2 u:2",
                                           "CompleteAbort 1000/2"};
  const auto log = scene.log();
  ASSERT_EQ(log.size() + 1, states.size());
  for (std::size_t kept = 0; kept <= log.size(); ++kept) {
    SCOPED_TRACE(kept);
    TransactionScene other;
    for (std::size_t i = 0; i < kept; ++i) {
      Decision decision{.replay = false};
      decision.records.push_back(log[i].record);
      other.carry_out(std::move(decision));
    }
    other.crash();
    EXPECT_EQ(other.describe("a"), states[kept]);
    const bool is_decided = states[kept].starts_with("Prepare");
    EXPECT_EQ(other.effects().markers.size(), is_decided ? 1u : 0u);
    other.write_all_markers();
    EXPECT_EQ(other.describe("a"), states[is_decided ? kept + 1 : kept]);
    auto again = other.ask_init("a");
    if (!again->came()) other.write_all_markers();
    EXPECT_EQ(other.error_of(again->response()), ErrorCode::none);
  }
}

TEST(Transactions, markers_are_asked_for_once_the_outcome_is_durable) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0});
  scene.durable_at_once(false);
  const auto answer = scene.ask_end("a", producer, true, 4);
  EXPECT_FALSE(answer->came());
  EXPECT_TRUE(scene.effects().markers.empty());
  scene.make_durable();
  EXPECT_TRUE(answer->came());
  EXPECT_EQ(scene.effects().markers.size(), 1u);
}

TEST(Transactions, what_meets_an_outcome_that_is_carried_out_waits_for_its_end) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0}, 5);
  const Producer next = scene.producer_of(scene.ask_end("a", producer, true, 5)->response());
  const auto added = scene.ask_add("a", next, {{"t", {1}}}, 5);
  EXPECT_FALSE(added->came());
  scene.write_markers();
  EXPECT_EQ(scene.first_error(added->response()), ErrorCode::none);
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/1 t:1");
}

TEST(Transactions, what_waits_too_long_is_told_to_ask_again) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0}, 5);
  const Producer next = scene.producer_of(scene.ask_end("a", producer, true, 5)->response());
  const auto added = scene.ask_add("a", next, {{"t", {1}}}, 5);
  scene.advance(std::chrono::milliseconds(99));
  EXPECT_FALSE(added->came());
  scene.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(scene.first_error(added->response()), ErrorCode::concurrent_transactions);
  scene.write_markers();
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/1");
}

}  // namespace
}  // namespace barnabas::coordinator::testing
