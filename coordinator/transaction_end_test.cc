#include <gtest/gtest.h>

#include "coordinator/transaction_records.h"
#include "coordinator/transaction_test_support.h"

namespace barnabas::coordinator::testing {
namespace {

constexpr bool commit = true;
constexpr bool abort = false;

std::string told(const AnswerPtr<EndTxnResponse>& answer) {
  if (!answer->came()) return "waits";
  const auto& response = answer->response();
  std::string text = std::to_string(response.error_code);
  if (response.producer_id != -1)
    text += " " + std::to_string(response.producer_id) + "/" + std::to_string(response.producer_epoch);
  return text;
}

Producer with_epoch(Producer producer, int16_t epoch) {
  return {producer.id, ProducerEpoch(epoch)};
}

/// An id "a" whose producer has just ended a transaction, by this version.
Producer ended(TransactionScene& scene, bool committed, int16_t version) {
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0}, version >= 5 ? int16_t{5} : int16_t{3});
  scene.ask_end("a", producer, committed, version);
  scene.write_markers();
  return producer;
}

TEST(EndTxn, refuses_who_is_not_the_producer) {
  for (const int16_t version : {0, 1, 2, 3, 4, 5}) {
    TransactionScene scene;
    const Producer producer = scene.init("a");
    scene.add("a", producer, "t", {0});
    const std::string fenced = version < 2 ? "47" : "90";
    EXPECT_EQ(told(scene.ask_end("b", producer, commit, version)), "49");
    EXPECT_EQ(told(scene.ask_end("a", {ProducerId(5), ProducerEpoch(9)}, commit, version)), "49");
    EXPECT_EQ(told(scene.ask_end("a", with_epoch(producer, 1), commit, version)), fenced);
    EXPECT_EQ(told(scene.ask_end("a", with_epoch(producer, -1), commit, version)), fenced);
    EXPECT_EQ(told(scene.ask_end("", producer, commit, version)), "42");
    EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0 t:0");
  }
}

TEST(EndTxn, of_version_1_cannot_end_what_has_not_begun) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  EXPECT_EQ(told(scene.ask_end("a", producer, commit, 4)), "48");
  EXPECT_EQ(told(scene.ask_end("a", producer, abort, 4)), "48");
}

TEST(EndTxn, of_version_1_may_be_repeated_but_not_taken_back) {
  for (const bool outcome : {commit, abort}) {
    TransactionScene scene;
    const Producer producer = ended(scene, outcome, 4);
    const std::size_t logged = scene.log().size();
    EXPECT_EQ(told(scene.ask_end("a", producer, outcome, 4)), "0");
    EXPECT_EQ(told(scene.ask_end("a", producer, !outcome, 4)), "48");
    EXPECT_EQ(scene.log().size(), logged);
  }
}

TEST(EndTxn, that_is_repeated_during_the_end_waits_for_it) {
  for (const int16_t version : {4, 5}) {
    TransactionScene scene;
    const Producer producer = scene.init("a");
    scene.add("a", producer, "t", {0});
    scene.ask_end("a", producer, commit, version);
    const auto again = scene.ask_end("a", producer, commit, version);
    const auto other = scene.ask_end("a", producer, abort, version);
    EXPECT_EQ(told(again), "waits");
    EXPECT_EQ(told(other), "waits");
    EXPECT_EQ(scene.effects().markers.size(), 1u);
    scene.write_markers();
    EXPECT_EQ(told(again), version == 5 ? "0 1000/1" : "0");
    EXPECT_EQ(told(other), "48");
  }
}

TEST(EndTxn, of_version_2_may_be_repeated_with_the_epoch_from_before) {
  for (const bool outcome : {commit, abort}) {
    TransactionScene scene;
    const Producer producer = ended(scene, outcome, 5);
    EXPECT_EQ(told(scene.ask_end("a", producer, outcome, 5)), "0 1000/1");
    EXPECT_EQ(told(scene.ask_end("a", producer, !outcome, 5)), "48");
    scene.crash();
    EXPECT_EQ(told(scene.ask_end("a", producer, outcome, 5)), "0 1000/1");
    EXPECT_EQ(told(scene.ask_end("a", producer, !outcome, 5)), "48");
    scene.add("a", with_epoch(producer, 1), "t", {0}, 5);
    EXPECT_EQ(told(scene.ask_end("a", producer, outcome, 5)), "90");
  }
}

TEST(EndTxn, of_version_2_aborts_what_has_not_begun_and_gives_an_epoch) {
  for (const bool outcome : {commit, abort}) {
    TransactionScene scene;
    const Producer next = with_epoch(ended(scene, outcome, 5), 1);
    EXPECT_EQ(told(scene.ask_end("a", next, commit, 5)), "48");
    EXPECT_EQ(told(scene.ask_end("a", next, abort, 5)), "0 1000/2");
    EXPECT_EQ(scene.describe("a"), "CompleteAbort 1000/2");
    EXPECT_EQ(told(scene.ask_end("a", next, abort, 5)), "0 1000/2");
  }
  TransactionScene scene;
  const Producer producer = scene.init("a");
  EXPECT_EQ(told(scene.ask_end("a", producer, commit, 5)), "48");
  EXPECT_EQ(told(scene.ask_end("a", producer, abort, 5)), "0 1000/1");
  EXPECT_EQ(scene.describe("a"), "CompleteAbort 1000/1");
  EXPECT_TRUE(scene.effects().markers.empty());
}

TEST(EndTxn, goes_on_with_a_new_producer_id_when_the_epochs_are_used_up) {
  for (const bool loses_memory : {false, true}) {
    TransactionScene scene;
    Decision given;
    given.records.push_back(transaction_record(
        "a", {.producer_id = ProducerId(7), .producer_epoch = ProducerEpoch(32766), .timeout_ms = 1000}, 2));
    scene.carry_out(std::move(given));
    const Producer last{ProducerId(7), ProducerEpoch(32766)};
    scene.add("a", last, "t", {0}, 5);
    EXPECT_EQ(told(scene.ask_end("a", last, commit, 5)), "0 1000/0");
    EXPECT_EQ(scene.describe("a"), "PrepareCommit 7/32767 t:0");
    EXPECT_EQ(scene.effects().markers.at(0).producer_id, ProducerId(7));
    EXPECT_EQ(scene.effects().markers.at(0).producer_epoch, ProducerEpoch(32767));
    if (loses_memory) {
      scene.effects().markers.clear();
      scene.crash();
    }
    scene.write_markers();
    EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
    EXPECT_EQ(told(scene.ask_end("a", last, commit, 5)), "0 1000/0");
    EXPECT_EQ(told(scene.ask_end("a", last, abort, 5)), "48");
    EXPECT_EQ(scene.add("a", {ProducerId(1000), ProducerEpoch(0)}, "t", {1}, 5), ErrorCode::none);
    EXPECT_EQ(told(scene.ask_end("a", last, commit, 5)), "49");
  }
}

TEST(EndTxn, looks_again_when_the_producer_id_came_late) {
  TransactionScene scene;
  Decision given;
  given.records.push_back(transaction_record(
      "a", {.producer_id = ProducerId(7), .producer_epoch = ProducerEpoch(32766), .timeout_ms = 1000}, 2));
  scene.carry_out(std::move(given));
  const Producer last{ProducerId(7), ProducerEpoch(32766)};
  scene.add("a", last, "t", {0}, 5);
  scene.hold_producer_ids_back(true);
  const auto first = scene.ask_end("a", last, commit, 5);
  const auto second = scene.ask_end("a", last, commit, 5);
  scene.hand_out_producer_ids();
  EXPECT_EQ(told(first), "0 1000/0");
  EXPECT_EQ(told(second), "waits");
  scene.write_markers();
  EXPECT_EQ(told(second), "0 1000/0");
}

TEST(EndTxn, goes_by_the_version_of_the_request_whatever_added_the_partitions) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0}, 5);
  EXPECT_EQ(told(scene.ask_end("a", producer, commit, 4)), "0");
  EXPECT_EQ(scene.effects().markers.at(0).transaction_version, 0);
  EXPECT_EQ(scene.effects().markers.at(0).producer_epoch, ProducerEpoch(0));
  scene.write_markers();
  scene.add("a", producer, "t", {0}, 3);
  EXPECT_EQ(told(scene.ask_end("a", producer, commit, 5)), "0 1000/1");
  EXPECT_EQ(scene.effects().markers.at(0).transaction_version, 2);
  EXPECT_EQ(scene.effects().markers.at(0).producer_epoch, ProducerEpoch(1));
}

TEST(EndTxn, of_version_2_is_not_to_be_had_before_the_log_knows_of_versions) {
  TransactionScene scene(0);
  const Producer producer = scene.init("a");
  EXPECT_EQ(told(scene.ask_end("a", producer, commit, 5)), "48");
  EXPECT_EQ(told(scene.ask_end("a", producer, abort, 5)), "35");
  scene.add("a", producer, "t", {0}, 3);
  EXPECT_EQ(told(scene.ask_end("a", {ProducerId(7), ProducerEpoch(0)}, commit, 5)), "49");
  EXPECT_EQ(told(scene.ask_end("a", {producer.id, ProducerEpoch(3)}, commit, 5)), "90");
  EXPECT_EQ(told(scene.ask_end("a", producer, commit, 5)), "35");
  EXPECT_EQ(told(scene.ask_end("a", producer, commit, 4)), "0");
}

TEST(EndTxn, that_cannot_be_written_has_not_happened) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0}, 5);
  scene.refuse_appends(ErrorCode::coordinator_not_available);
  EXPECT_EQ(scene.ask_end("a", producer, commit, 5)->refused(), ErrorCode::coordinator_not_available);
  scene.refuse_appends(ErrorCode::none);
  EXPECT_TRUE(scene.effects().markers.empty());
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0 t:0");
  EXPECT_EQ(told(scene.ask_end("a", producer, abort, 5)), "0 1000/1");
}

}  // namespace
}  // namespace barnabas::coordinator::testing
