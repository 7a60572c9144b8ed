#include <gtest/gtest.h>

#include "coordinator/transaction_test_support.h"

namespace barnabas::coordinator::testing {
namespace {

using Topics = std::vector<std::pair<std::string, std::vector<int32_t>>>;

/// "t: 0=0 1=120; u: …", in the order of the answer.
std::string told(const AnswerPtr<AddPartitionsToTxnResponse::AddPartitionsToTxnResult>& answer) {
  if (!answer->came()) return "waits";
  std::string text;
  for (const auto& topic : answer->response().topic_results) {
    if (!text.empty()) text += "; ";
    text += topic.name.str() + ":";
    for (const auto& partition : topic.results_by_partition)
      text += " " + std::to_string(partition.partition_index) + "=" +
              std::to_string(partition.partition_error_code);
  }
  return text;
}

TEST(AddPartitions, answers_each_partition_in_the_order_of_the_request) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  const auto answer = scene.ask_add("a", producer, {{"u", {2, 0, 2}}, {"t", {1}}, {"u", {1}}}, 3);
  EXPECT_EQ(told(answer), "u: 2=0 0=0 2=0; t: 1=0; u: 1=0");
  EXPECT_EQ(answer->response().transactional_id, "a");
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0 t:1 u:0,1,2");
}

TEST(AddPartitions, writes_nothing_for_what_is_there_already) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0, 1});
  const std::size_t logged = scene.log().size();
  EXPECT_EQ(scene.add("a", producer, "t", {1, 0}), ErrorCode::none);
  EXPECT_EQ(scene.log().size(), logged);
  EXPECT_EQ(scene.add("a", producer, "t", {1, 2}), ErrorCode::none);
  EXPECT_EQ(scene.log().size(), logged + 1);
}

TEST(AddPartitions, of_none_begins_the_transaction) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  EXPECT_EQ(told(scene.ask_add("a", producer, {}, 3)), "");
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0");
  EXPECT_EQ(scene.end("a", producer, true), ErrorCode::none);
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
  EXPECT_TRUE(scene.effects().markers.empty());
}

TEST(AddPartitions, refuses_who_is_not_the_producer) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  const Topics topics = {{"t", {0, 1}}};
  EXPECT_EQ(told(scene.ask_add("b", producer, topics, 3)), "t: 0=49 1=49");
  EXPECT_EQ(told(scene.ask_add("a", {ProducerId(999), producer.epoch}, topics, 3)), "t: 0=49 1=49");
  for (const int16_t epoch : {-1, 1}) {
    const Producer other{producer.id, ProducerEpoch(epoch)};
    for (const int16_t version : {0, 1})
      EXPECT_EQ(told(scene.ask_add("a", other, topics, version)), "t: 0=47 1=47");
    for (const int16_t version : {2, 3, 4, 5})
      EXPECT_EQ(told(scene.ask_add("a", other, topics, version)), "t: 0=90 1=90");
  }
  EXPECT_EQ(told(scene.ask_add("", producer, topics, 3)), "t: 0=42 1=42");
  EXPECT_EQ(scene.describe("a"), "Empty 1000/0");
}

TEST(AddPartitions, refuses_topics_that_cannot_be) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  EXPECT_EQ(scene.add("a", producer, std::string(40000, 'x'), {0}), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(scene.describe("a"), "Empty 1000/0");
}

TEST(AddPartitions, that_waited_for_one_end_become_one_record) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0}, 5);
  const Producer next = scene.producer_of(scene.ask_end("a", producer, true, 5)->response());
  const std::size_t logged = scene.log().size();
  const auto first = scene.ask_add("a", next, {{"t", {0}}}, 5);
  const auto second = scene.ask_add("a", next, {{"u", {0}}}, 5);
  const auto fenced = scene.ask_add("a", producer, {{"u", {0}}}, 5);
  scene.write_markers();
  EXPECT_EQ(told(first), "t: 0=0");
  EXPECT_EQ(told(second), "u: 0=0");
  EXPECT_EQ(told(fenced), "u: 0=90");
  EXPECT_EQ(scene.log().size(), logged + 2);
  scene.crash();
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/1 t:0 u:0");
}

TEST(AddPartitions, of_version_2_are_not_to_be_had_before_the_log_knows_of_versions) {
  TransactionScene scene(0);
  const Producer producer = scene.init("a");
  EXPECT_EQ(scene.add("a", producer, "t", {0}, 5), ErrorCode::unsupported_version);
  EXPECT_EQ(told(scene.ask_add("a", producer, {{"t", {0}}}, 5, true)), "t: 0=120");
  EXPECT_EQ(scene.add("a", producer, "t", {0}, 3), ErrorCode::none);
}

TEST(VerifyPartitions, tells_for_each_whether_it_belongs_to_the_transaction) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  EXPECT_EQ(told(scene.ask_add("a", producer, {{"t", {0}}}, 5, true)), "t: 0=120");
  scene.add("a", producer, "t", {0, 2});
  const std::size_t logged = scene.log().size();
  EXPECT_EQ(told(scene.ask_add("a", producer, {{"t", {0, 1, 2}}, {"u", {0}}}, 4, true)),
            "t: 0=0 1=120 2=0; u: 0=120");
  EXPECT_EQ(told(scene.ask_add("b", producer, {{"t", {0}}}, 5, true)), "t: 0=49");
  EXPECT_EQ(told(scene.ask_add("", producer, {{"t", {0}}}, 5, true)), "t: 0=42");
  EXPECT_EQ(told(scene.ask_add("a", {producer.id, ProducerEpoch(1)}, {{"t", {0}}}, 5, true)), "t: 0=90");
  EXPECT_EQ(scene.log().size(), logged);
}

TEST(VerifyPartitions, waits_for_the_end_of_what_is_decided_unless_it_is_fenced_anyway) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  scene.add("a", producer, "t", {0}, 5);
  const Producer next = scene.producer_of(scene.ask_end("a", producer, true, 5)->response());
  EXPECT_EQ(told(scene.ask_add("a", producer, {{"t", {0}}}, 5, true)), "t: 0=90");
  const auto waits = scene.ask_add("a", next, {{"t", {0}}}, 5, true);
  EXPECT_EQ(told(waits), "waits");
  scene.write_markers();
  EXPECT_EQ(told(waits), "t: 0=120");
}

TEST(AddOffsets, refuses_who_is_not_the_producer) {
  TransactionScene scene;
  const Producer producer = scene.init("a");
  const Producer fenced{producer.id, ProducerEpoch(7)};
  EXPECT_EQ(scene.ask_add_offsets("a", fenced, 3, 1)->response(), ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(scene.ask_add_offsets("a", fenced, 3, 2)->response(), ErrorCode::producer_fenced);
  EXPECT_EQ(scene.ask_add_offsets("b", producer, 3)->response(), ErrorCode::invalid_producer_id_mapping);
  EXPECT_EQ(scene.ask_add_offsets("", producer, 3)->response(), ErrorCode::invalid_request);
  EXPECT_EQ(scene.ask_add_offsets("a", producer, 3)->response(), ErrorCode::none);
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0 __consumer_offsets:3");
}

}  // namespace
}  // namespace barnabas::coordinator::testing
