#include <gtest/gtest.h>

#include "coordinator/transaction_records.h"
#include "coordinator/transaction_test_support.h"

namespace barnabas::coordinator::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TransactionTimeout, aborts_at_the_next_look_and_fences_the_producer) {
  for (const int16_t version : {0, 1, 2}) {
    TransactionScene scene(version);
    scene.ask_init("a", -1, -1, 15000);
    const Producer producer{ProducerId(1000), ProducerEpoch(0)};
    scene.add("a", producer, "t", {0});
    scene.advance(seconds(10));
    EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0 t:0");
    scene.advance(seconds(10));
    EXPECT_EQ(scene.describe("a"), "PrepareAbort 1000/1 t:0");
    EXPECT_EQ(scene.effects().markers.at(0).producer_epoch, ProducerEpoch(1));
    EXPECT_EQ(scene.effects().markers.at(0).transaction_version, version == 2 ? 2 : 0);
    scene.write_markers();
    EXPECT_EQ(scene.describe("a"), "CompleteAbort 1000/1");
    EXPECT_EQ(scene.end("a", producer, true), ErrorCode::producer_fenced);
    EXPECT_EQ(scene.add("a", producer, "t", {0}), ErrorCode::producer_fenced);
  }
}

TEST(TransactionTimeout, begins_with_the_first_partition_not_the_last) {
  TransactionScene scene;
  scene.ask_init("a", -1, -1, 15000);
  const Producer producer{ProducerId(1000), ProducerEpoch(0)};
  scene.add("a", producer, "t", {0});
  scene.advance(seconds(14));
  scene.add("a", producer, "t", {1});
  scene.advance(seconds(6));
  EXPECT_EQ(scene.describe("a"), "PrepareAbort 1000/1 t:0,1");
}

TEST(TransactionTimeout, counts_across_a_crash) {
  TransactionScene scene;
  scene.ask_init("a", -1, -1, 60000);
  scene.add("a", {ProducerId(1000), ProducerEpoch(0)}, "t", {0});
  scene.advance(seconds(55));
  scene.crash();
  scene.advance(seconds(10));
  EXPECT_EQ(scene.describe("a"), "PrepareAbort 1000/1 t:0");
}

TEST(TransactionTimeout, does_not_come_over_what_is_decided_or_has_not_begun) {
  TransactionScene scene;
  scene.ask_init("a", -1, -1, 1000);
  scene.ask_init("b", -1, -1, 1000);
  const Producer producer{ProducerId(1000), ProducerEpoch(0)};
  scene.add("a", producer, "t", {0});
  EXPECT_EQ(scene.end("a", producer, true), ErrorCode::none);
  scene.advance(seconds(60));
  EXPECT_EQ(scene.describe("a"), "PrepareCommit 1000/0 t:0");
  EXPECT_EQ(scene.describe("b"), "Empty 1001/0");
}

TEST(TransactionTimeout, with_the_last_epoch_waits_for_a_new_producer_id) {
  TransactionScene scene;
  Decision given;
  given.records.push_back(transaction_record(
      "a", {.producer_id = ProducerId(7), .producer_epoch = ProducerEpoch(32766), .timeout_ms = 1000}, 2));
  scene.carry_out(std::move(given));
  scene.add("a", {ProducerId(7), ProducerEpoch(32766)}, "t", {0}, 5);
  scene.advance(seconds(10));
  EXPECT_EQ(scene.describe("a"), "Ongoing 7/32766 t:0");
  scene.hand_out_producer_ids();
  EXPECT_EQ(scene.describe("a"), "PrepareAbort 7/32767 t:0");
  scene.write_markers();
  EXPECT_EQ(scene.describe("a"), "CompleteAbort 1000/0");
}

TEST(TransactionTimeout, of_very_many_comes_in_batches_that_the_log_can_take) {
  TransactionScene scene;
  const int many = 2'500;
  for (int i = 0; i < many; ++i) {
    const Producer producer = scene.init("transactional id number " + std::to_string(i));
    scene.add("transactional id number " + std::to_string(i), producer, "t", {0});
  }
  const auto begun = scene.log().size();
  scene.advance(seconds(80));
  EXPECT_EQ(scene.effects().markers.size(), static_cast<std::size_t>(many));
  EXPECT_EQ(scene.log().size(), begun + many);
  scene.write_all_markers();
  EXPECT_EQ(scene.describe("transactional id number 77"), "CompleteAbort 1077/1");
}

TEST(TransactionTimeout, that_cannot_be_written_is_tried_again) {
  TransactionScene scene;
  scene.ask_init("a", -1, -1, 1000);
  scene.add("a", {ProducerId(1000), ProducerEpoch(0)}, "t", {0});
  scene.refuse_appends(ErrorCode::not_enough_replicas);
  scene.advance(seconds(20));
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0 t:0");
  EXPECT_TRUE(scene.effects().markers.empty());
  scene.refuse_appends(ErrorCode::none);
  scene.advance(seconds(1));
  EXPECT_EQ(scene.describe("a"), "PrepareAbort 1000/1 t:0");
}

/// A week is long when each ten seconds somebody looks for transactions that take too long.
std::shared_ptr<TransactionScene::World> with_rare_looks() {
  auto world = TransactionScene::world_of(2);
  world->settings.abort_interval = hours(10);
  return world;
}

TEST(TransactionalIds, that_nobody_uses_are_forgotten) {
  TransactionScene scene(with_rare_looks());
  scene.init("empty");
  const Producer producer = scene.init("complete");
  scene.add("complete", producer, "t", {0});
  scene.end("complete", producer, true);
  scene.write_markers();
  scene.advance(hours(7 * 24) - milliseconds(1));
  EXPECT_EQ(scene.describe("empty"), "Empty 1000/0");
  const auto before = scene.log().size();
  scene.advance(hours(1));
  EXPECT_EQ(scene.describe("empty"), "105");
  EXPECT_EQ(scene.describe("complete"), "105");
  ASSERT_EQ(scene.log().size(), before + 2);
  for (std::size_t i = before; i < scene.log().size(); ++i) EXPECT_FALSE(scene.log()[i].record.value);
  EXPECT_EQ(scene.add("complete", producer, "t", {0}), ErrorCode::invalid_producer_id_mapping);
  scene.crash();
  EXPECT_EQ(scene.describe("empty"), "105");
  EXPECT_EQ(scene.producer_of(scene.ask_init("empty", 1000, 0)->response()).id, ProducerId(1002));
}

TEST(TransactionalIds, that_are_used_stay) {
  TransactionScene scene(with_rare_looks());
  scene.init("a");
  scene.advance(hours(6 * 24));
  scene.init("a");
  scene.advance(hours(2 * 24));
  EXPECT_EQ(scene.describe("a"), "Empty 1000/1");
}

TEST(TransactionalIds, with_an_outcome_to_carry_out_stay) {
  TransactionScene scene(with_rare_looks());
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0});
  scene.end("a", producer, true);
  scene.advance(hours(8 * 24));
  EXPECT_EQ(scene.describe("a"), "PrepareCommit 1000/0 t:0");
  scene.write_markers();
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
}

TEST(TransactionalIds, stay_until_their_tombstone_is_written) {
  TransactionScene scene(with_rare_looks());
  scene.init("a");
  scene.advance(hours(7 * 24) - seconds(1));
  scene.refuse_appends(ErrorCode::not_enough_replicas);
  scene.advance(hours(1));
  EXPECT_EQ(scene.describe("a"), "Empty 1000/0");
  scene.refuse_appends(ErrorCode::none);
  scene.advance(seconds(1));
  EXPECT_EQ(scene.describe("a"), "105");
}

}  // namespace
}  // namespace barnabas::coordinator::testing
