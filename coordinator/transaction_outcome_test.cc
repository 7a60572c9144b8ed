#include <gtest/gtest.h>

#include "coordinator/transaction_test_support.h"

/// What becomes of markers, and of those who wait for them.
namespace barnabas::coordinator::testing {
namespace {

using std::chrono::milliseconds;

/// "a" with a commit decided for these partitions of "t" and "u".
Producer decided(TransactionScene& scene, int16_t version = 4) {
  const Producer producer = scene.init("a");
  scene.ask_add("a", producer, {{"t", {0, 1}}, {"u", {2}}}, 3);
  EXPECT_EQ(scene.end("a", producer, true, version), ErrorCode::none);
  return producer;
}

TransactionMarkers taken(TransactionScene& scene) {
  TransactionMarkers markers = std::move(scene.effects().markers.at(0));
  scene.effects().markers.pop_front();
  return markers;
}

TEST(Markers, that_failed_are_written_again_after_a_pause_and_only_they) {
  TransactionScene scene;
  decided(scene);
  const TransactionMarkers markers = taken(scene);
  scene.carry_out(scene.shard().markers_written(
      markers,
      {{"t", 0, ErrorCode::none}, {"t", 1, ErrorCode::not_leader_or_follower}, {"u", 2, ErrorCode::none}},
      scene.now()));
  EXPECT_EQ(scene.describe("a"), "PrepareCommit 1000/0 t:1");
  EXPECT_TRUE(scene.effects().markers.empty());
  scene.advance(milliseconds(100));
  ASSERT_EQ(scene.effects().markers.size(), 1u);
  EXPECT_EQ(scene.effects().markers[0].partitions, (TransactionPartitions{{"t", {1}}}));
  scene.write_markers();
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
}

TEST(Markers, are_tried_again_whatever_the_error) {
  for (const ErrorCode error :
       {ErrorCode::not_leader_or_follower, ErrorCode::not_enough_replicas, ErrorCode::kafka_storage_error,
        ErrorCode::request_timed_out, ErrorCode::unknown_topic_or_partition, ErrorCode::unknown_server_error,
        ErrorCode::corrupt_message, ErrorCode::coordinator_load_in_progress}) {
    TransactionScene scene;
    decided(scene);
    for (int i = 0; i < 5; ++i) {
      scene.write_markers(error);
      EXPECT_TRUE(scene.effects().markers.empty());
      scene.advance(milliseconds(100));
    }
    scene.write_markers();
    EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
  }
}

TEST(Markers, of_partitions_that_need_none_any_more_are_dropped) {
  for (const ErrorCode error : {ErrorCode::invalid_producer_epoch, ErrorCode::unsupported_for_message_format,
                                ErrorCode::unsupported_version}) {
    TransactionScene scene;
    decided(scene);
    scene.write_markers(error);
    EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
  }
}

TEST(Markers, of_deleted_topics_are_dropped) {
  TransactionScene scene;
  decided(scene);
  scene.delete_topic("t");
  const TransactionMarkers markers = taken(scene);
  scene.carry_out(scene.shard().markers_written(markers,
                                                {{"t", 0, ErrorCode::unknown_topic_or_partition},
                                                 {"t", 1, ErrorCode::unknown_topic_or_partition},
                                                 {"u", 2, ErrorCode::unknown_topic_or_partition}},
                                                scene.now()));
  EXPECT_EQ(scene.describe("a"), "PrepareCommit 1000/0 u:2");
  scene.delete_topic("u");
  scene.advance(milliseconds(100));
  scene.write_markers(ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
}

TEST(Markers, are_left_to_a_newer_coordinator) {
  TransactionScene scene;
  decided(scene);
  scene.write_markers(ErrorCode::transaction_coordinator_fenced);
  scene.advance(std::chrono::seconds(5));
  EXPECT_TRUE(scene.effects().markers.empty());
  EXPECT_EQ(scene.describe("a"), "PrepareCommit 1000/0 t:0,1 u:2");
}

TEST(Markers, of_another_outcome_do_not_count_for_this_one) {
  TransactionScene scene;
  const Producer producer = decided(scene);
  const TransactionMarkers first = scene.effects().markers.at(0);
  scene.write_markers();
  // The next transaction of this version has the same epoch, the same partition, the same outcome.
  scene.add("a", producer, "t", {0});
  EXPECT_EQ(scene.end("a", producer, true), ErrorCode::none);
  scene.carry_out(scene.shard().markers_written(first, {{"t", 0, ErrorCode::none}}, scene.now()));
  EXPECT_EQ(scene.describe("a"), "PrepareCommit 1000/0 t:0");
  scene.write_markers();
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
}

TEST(Markers, that_a_shard_asked_for_which_is_gone_do_not_count_for_the_next) {
  TransactionScene scene;
  decided(scene);
  const TransactionMarkers before = taken(scene);
  scene.advance(milliseconds(1));
  scene.crash();
  scene.carry_out(scene.shard().markers_written(
      before, {{"t", 0, ErrorCode::none}, {"t", 1, ErrorCode::none}, {"u", 2, ErrorCode::none}},
      scene.now()));
  EXPECT_EQ(scene.describe("a"), "PrepareCommit 1000/0 t:0,1 u:2");
  scene.write_markers();
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
}

TEST(Markers, of_ids_that_nobody_knows_are_no_harm) {
  TransactionScene scene;
  TransactionMarkers markers;
  markers.transactional_id = "nobody";
  EXPECT_TRUE(scene.carry_out(scene.shard().markers_written(markers, {}, scene.now())));
  EXPECT_TRUE(scene.log().empty());
}

TEST(Markers, without_any_result_are_asked_for_again) {
  TransactionScene scene;
  decided(scene);
  scene.carry_out(scene.shard().markers_written(taken(scene), {}, scene.now()));
  scene.advance(milliseconds(100));
  scene.write_markers();
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
}

TEST(TheEnd, is_written_again_until_it_is_taken) {
  TransactionScene scene;
  const Producer producer = decided(scene);
  const auto waits = scene.ask_end("a", producer, true, 4);
  scene.refuse_appends(ErrorCode::not_enough_replicas);
  scene.write_markers();
  EXPECT_EQ(waits->refused(), ErrorCode::not_enough_replicas);
  scene.advance(milliseconds(500));
  EXPECT_EQ(scene.describe("a"), "PrepareCommit 1000/0");
  scene.refuse_appends(ErrorCode::none);
  scene.advance(milliseconds(500));
  EXPECT_EQ(scene.describe("a"), "CompleteCommit 1000/0");
  EXPECT_TRUE(scene.effects().markers.empty());
}

TEST(TheEnd, lets_those_who_wait_go_on_in_the_order_in_which_they_came) {
  TransactionScene scene;
  const Producer producer = decided(scene);
  const auto adds = scene.ask_add("a", producer, {{"t", {0}}}, 3);
  const auto ends = scene.ask_end("a", producer, false, 4);
  const auto adds_more = scene.ask_add("a", producer, {{"t", {1}}}, 3);
  scene.write_markers();
  EXPECT_EQ(scene.first_error(adds->response()), ErrorCode::none);
  EXPECT_EQ(scene.error_of(ends->response()), ErrorCode::none);
  EXPECT_FALSE(adds_more->came());
  EXPECT_EQ(scene.describe("a"), "PrepareAbort 1000/0 t:0");
  scene.write_markers();
  EXPECT_EQ(scene.first_error(adds_more->response()), ErrorCode::none);
  EXPECT_EQ(scene.describe("a"), "Ongoing 1000/0 t:1");
}

TEST(TheEnd, does_not_make_anybody_wait_longer_because_another_one_follows) {
  TransactionScene scene;
  const Producer producer = decided(scene);
  const auto adds = scene.ask_add("a", producer, {{"t", {0}}}, 3);
  const auto ends = scene.ask_end("a", producer, false, 4);
  const auto adds_more = scene.ask_add("a", producer, {{"t", {1}}}, 3);
  scene.advance(milliseconds(60));
  scene.write_markers();
  scene.advance(milliseconds(40));
  EXPECT_EQ(scene.first_error(adds_more->response()), ErrorCode::concurrent_transactions);
}

TEST(Waiting, ends_with_the_shard) {
  TransactionScene scene;
  const Producer producer = decided(scene);
  const auto adds = scene.ask_add("a", producer, {{"t", {0}}}, 3);
  const auto inits = scene.ask_init("a");
  scene.carry_out(scene.shard().unload());
  EXPECT_EQ(scene.first_error(adds->response()), ErrorCode::not_coordinator);
  EXPECT_EQ(scene.error_of(inits->response()), ErrorCode::not_coordinator);
}

TEST(Waiting, is_for_as_many_as_there_is_room_for) {
  TransactionScene scene;
  const Producer producer = decided(scene);
  std::vector<AnswerPtr<EndTxnResponse>> answers;
  for (int i = 0; i < 10'001; ++i) answers.push_back(scene.ask_end("a", producer, true, 4));
  EXPECT_FALSE(answers[9'999]->came());
  EXPECT_EQ(scene.error_of(answers[10'000]->response()), ErrorCode::concurrent_transactions);
  scene.advance(milliseconds(100));
  EXPECT_EQ(scene.error_of(answers[9'999]->response()), ErrorCode::concurrent_transactions);
  const auto next = scene.ask_end("a", producer, true, 4);
  EXPECT_FALSE(next->came());
  scene.write_markers();
  EXPECT_EQ(scene.error_of(next->response()), ErrorCode::none);
}

TEST(Loading, asks_for_markers_once_the_outcome_is_known_to_stay) {
  TransactionScene scene;
  decided(scene);
  scene.effects().markers.clear();
  scene.durable_at_once(false);
  scene.crash();
  scene.make_durable();
  ASSERT_EQ(scene.effects().markers.size(), 1u);
  EXPECT_EQ(scene.effects().markers[0].partitions, (TransactionPartitions{{"t", {0, 1}}, {"u", {2}}}));
}

}  // namespace
}  // namespace barnabas::coordinator::testing
