#include <gtest/gtest.h>

#include "coordinator/transaction_records.h"
#include "coordinator/transaction_test_support.h"

namespace barnabas::coordinator::testing {
namespace {

Producer producer(int64_t id, int16_t epoch) {
  return {ProducerId(id), ProducerEpoch(epoch)};
}

std::string told(const AnswerPtr<InitProducerIdResponse>& answer) {
  if (!answer->came()) return "waits";
  const auto& response = answer->response();
  if (response.error_code != 0) {
    EXPECT_EQ(response.producer_id, -1);
    EXPECT_EQ(response.producer_epoch, -1);
    return std::to_string(response.error_code);
  }
  return std::to_string(response.producer_id) + "/" + std::to_string(response.producer_epoch);
}

/// A log that has the id in this state already.
void given(TransactionScene& scene, std::string_view id, const Transaction& transaction) {
  Decision decision;
  decision.records.push_back(transaction_record(id, transaction, 2));
  scene.carry_out(std::move(decision));
}

TEST(InitProducerId, refuses_timeouts_that_are_none_or_longer_than_allowed) {
  TransactionScene scene;
  for (const int32_t timeout : {0, -1, 900001}) EXPECT_EQ(told(scene.ask_init("a", -1, -1, timeout)), "50");
  EXPECT_EQ(told(scene.ask_init("a", -1, -1, 900000)), "1000/0");
  EXPECT_TRUE(scene.effects().asked.empty());
}

TEST(InitProducerId, refuses_half_a_producer) {
  TransactionScene scene;
  EXPECT_EQ(told(scene.ask_init("a", 5, -1)), "42");
  EXPECT_EQ(told(scene.ask_init("a", -1, 5)), "42");
  EXPECT_EQ(told(scene.ask_init("")), "42");
}

TEST(InitProducerId, refuses_two_phase_commit) {
  TransactionScene scene;
  InitProducerIdRequest request;
  request.transactional_id = protocol::String("a");
  request.transaction_timeout_ms = 1000;
  const auto ask = [&] {
    auto [reply, answer] = reply_and_answer<InitProducerIdResponse>();
    scene.carry_out(scene.shard().init_producer_id(scene.context(6), request, std::move(reply)));
    return told(answer);
  };
  request.enable2_pc = true;
  EXPECT_EQ(ask(), "53");
  request.enable2_pc = false;
  request.keep_prepared_txn = true;
  EXPECT_EQ(ask(), "35");
}

TEST(InitProducerId, refuses_an_id_that_the_log_cannot_hold) {
  TransactionScene scene;
  EXPECT_EQ(told(scene.ask_init(std::string(32768, 'a'))), "-1");
  EXPECT_EQ(told(scene.ask_init(std::string(32767, 'a'))), "1000/0");
}

TEST(InitProducerId, of_a_known_id_fences_who_had_it_before) {
  TransactionScene scene;
  const Producer old = scene.init("a");
  EXPECT_EQ(told(scene.ask_init("a")), "1000/1");
  EXPECT_EQ(scene.add("a", old, "t", {0}), ErrorCode::producer_fenced);
  EXPECT_EQ(told(scene.ask_init("a", 1000, 0)), "90");
}

TEST(InitProducerId, names_a_fence_as_old_clients_know_it) {
  TransactionScene scene;
  scene.init("a");
  scene.init("a");
  EXPECT_EQ(told(scene.ask_init("a", 1000, 0, 60000, 3)), "47");
  EXPECT_EQ(told(scene.ask_init("a", 1000, 0, 60000, 4)), "90");
}

TEST(InitProducerId, by_the_producer_itself_gives_it_the_next_epoch_however_often_it_asks) {
  TransactionScene scene;
  scene.init("a");
  EXPECT_EQ(told(scene.ask_init("a", 1000, 0)), "1000/1");
  EXPECT_EQ(told(scene.ask_init("a", 1000, 0)), "1000/1");
  EXPECT_EQ(told(scene.ask_init("a", 1000, 1)), "1000/2");
  EXPECT_EQ(told(scene.ask_init("a", 1000, 0)), "90");
  EXPECT_EQ(told(scene.ask_init("a", 1000, 7)), "90");
  EXPECT_EQ(told(scene.ask_init("a", 999, 2)), "90");
}

TEST(InitProducerId, of_an_unknown_id_gives_a_new_producer_whoever_asks) {
  TransactionScene scene;
  EXPECT_EQ(told(scene.ask_init("a", 77, 8)), "1000/0");
}

TEST(InitProducerId, does_not_know_the_last_epoch_after_a_crash) {
  TransactionScene scene;
  scene.init("a");
  EXPECT_EQ(told(scene.ask_init("a", 1000, 0)), "1000/1");
  scene.crash();
  EXPECT_EQ(told(scene.ask_init("a", 1000, 0)), "90");
  EXPECT_EQ(told(scene.ask_init("a", 1000, 1)), "1000/2");
}

TEST(InitProducerId, waits_for_the_abort_of_the_transaction_that_is_open) {
  for (const int16_t version : {1, 2}) {
    TransactionScene scene(version);
    const Producer old = scene.init("a");
    scene.add("a", old, "t", {0});
    const auto answer = scene.ask_init("a");
    EXPECT_EQ(told(answer), "waits");
    EXPECT_EQ(scene.describe("a"), "PrepareAbort 1000/1 t:0");
    scene.write_markers();
    EXPECT_EQ(told(answer), "1000/2");
    EXPECT_EQ(scene.describe("a"), "Empty 1000/2");
  }
}

TEST(InitProducerId, asks_again_after_the_wait_and_does_not_abort_twice) {
  TransactionScene scene;
  const Producer old = scene.init("a");
  scene.add("a", old, "t", {0});
  const auto answer = scene.ask_init("a");
  scene.advance(std::chrono::milliseconds(100));
  EXPECT_EQ(told(answer), "51");
  const auto again = scene.ask_init("a");
  EXPECT_EQ(told(again), "waits");
  scene.write_markers();
  EXPECT_EQ(told(again), "1000/2");
  EXPECT_TRUE(scene.effects().markers.empty());
}

TEST(InitProducerId, of_the_open_transactions_own_producer_needs_version_2_to_go_on) {
  for (const auto& [version, expected] : {std::pair<int16_t, std::string>{1, "90"}, {2, "1000/1"}}) {
    TransactionScene scene(version);
    const Producer own = scene.init("a");
    scene.add("a", own, "t", {0});
    const auto answer = scene.ask_init("a", 1000, 0);
    scene.write_markers();
    EXPECT_EQ(told(answer), expected);
  }
}

TEST(InitProducerId, of_another_producer_leaves_an_open_transaction_alone) {
  TransactionScene scene;
  const Producer own = scene.init("a");
  scene.add("a", own, "t", {0});
  EXPECT_EQ(told(scene.ask_init("a", 999, 0)), "90");
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0 t:0");
}

TEST(InitProducerId, gives_a_new_producer_id_when_the_epochs_are_used_up) {
  TransactionScene scene;
  given(scene, "a", {.producer_id = ProducerId(7), .producer_epoch = ProducerEpoch(32765)});
  EXPECT_EQ(told(scene.ask_init("a", 7, 32765)), "7/32766");
  EXPECT_EQ(told(scene.ask_init("a", 7, 32765)), "7/32766");  // Kafka: UNKNOWN_SERVER_ERROR for ever
  EXPECT_EQ(told(scene.ask_init("a", 7, 32766)), "1000/0");
  EXPECT_EQ(told(scene.ask_init("a", 7, 32766)), "1000/0");
  EXPECT_EQ(scene.add("a", producer(7, 32766), "t", {0}), ErrorCode::invalid_producer_id_mapping);
  EXPECT_EQ(told(scene.ask_init("a")), "1000/1");
  EXPECT_EQ(told(scene.ask_init("a", 7, 32766)), "90");
}

TEST(InitProducerId, fences_also_with_the_last_epoch) {
  for (const auto& [version, during, after] :
       {std::tuple<int16_t, std::string, std::string>{1, "PrepareAbort 7/32767 t:0", "1000/0"},
        {2, "PrepareAbort 7/32767 t:0", "1000/1"}}) {
    TransactionScene scene(version);
    given(scene, "a", {.producer_id = ProducerId(7), .producer_epoch = ProducerEpoch(32766)});
    scene.add("a", producer(7, 32766), "t", {0});
    const auto answer = scene.ask_init("a");
    EXPECT_EQ(scene.describe("a"), during);
    scene.write_markers();
    scene.hand_out_producer_ids();
    EXPECT_EQ(told(answer), after);
  }
}

TEST(InitProducerId, survives_that_a_producer_id_is_long_in_coming) {
  TransactionScene scene;
  scene.hold_producer_ids_back(true);
  const auto first = scene.ask_init("a");
  const auto second = scene.ask_init("a");
  EXPECT_EQ(told(first), "waits");
  scene.hand_out_producer_ids();
  EXPECT_EQ(told(first), "1000/0");
  EXPECT_EQ(told(second), "1000/1");
}

TEST(InitProducerId, tells_why_there_is_no_producer_id) {
  TransactionScene scene;
  scene.hold_producer_ids_back(true);
  const auto answer = scene.ask_init("a");
  scene.refuse_producer_ids(ErrorCode::coordinator_load_in_progress);
  EXPECT_EQ(told(answer), "14");
  EXPECT_EQ(scene.describe("a"), "105");
  const auto gone = scene.ask_init("a");
  scene.effects().asked.front().refused(ErrorCode::not_coordinator);
  EXPECT_EQ(told(gone), "16");
}

TEST(InitProducerId, leaves_nothing_behind_when_its_record_is_refused) {
  TransactionScene scene;
  scene.refuse_appends(ErrorCode::not_coordinator);
  EXPECT_EQ(scene.ask_init("a")->refused(), ErrorCode::not_coordinator);
  EXPECT_EQ(scene.describe("a"), "105");
  scene.refuse_appends(ErrorCode::none);
  EXPECT_EQ(told(scene.ask_init("a")), "1001/0");
}

}  // namespace
}  // namespace barnabas::coordinator::testing
