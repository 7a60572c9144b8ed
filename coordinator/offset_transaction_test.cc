#include <gtest/gtest.h>

#include "coordinator/offset_records.h"
#include "coordinator/offset_test_support.h"

namespace barnabas::coordinator {
namespace {

using namespace testing;
using protocol::TxnOffsetCommitRequest;
using protocol::TxnOffsetCommitResponse;

CommittedOffset offset_at(int64_t value, Uuid topic_id = {}) {
  CommittedOffset offset;
  offset.offset = value;
  offset.topic_id = topic_id;
  return offset;
}

TxnOffsetCommitRequest in_transaction(int64_t producer, std::string_view group,
                                      const std::vector<PartitionOffset>& offsets) {
  TxnOffsetCommitRequest request;
  request.transactional_id = "t";
  request.producer_id = producer;
  request.producer_epoch = 3;
  fill_commit(request, group, offsets);
  return request;
}

std::string commit(OffsetShard& shard, const TxnOffsetCommitRequest& request, int16_t version = 5) {
  auto [reply, answer] = reply_and_answer<TxnOffsetCommitResponse>();
  auto& runner = shard.runner();
  runner.carry_out(
      shard.shard().commit_offsets_in_transaction(runner.context(version), request, std::move(reply)));
  return errors_of(answer->response());
}

TEST(TxnOffsetCommit, counts_once_the_transaction_is_committed_and_after_a_crash) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}, {"a", 1, 1}});
  EXPECT_EQ(commit(shard, in_transaction(7, "g", {{"a", 0, 5, "note", 4}, {"a", 9, 5}, {"b", 0, 5}})),
            "a: 9=3 0=0; b: 0=3");
  EXPECT_EQ(commit(shard, in_transaction(8, "g", {{"a", 1, 6}})), "a: 1=0");
  shard.runner().crash();
  EXPECT_EQ(shard.fetch("g"), "a: 0=1 1=1");
  EXPECT_EQ(shard.fetch("g", /*require_stable=*/true), "a: 0=!88 1=!88");
  shard.runner().end_transaction(ProducerId{7}, true);
  shard.runner().end_transaction(ProducerId{8}, false);
  EXPECT_EQ(shard.fetch("g", true), "a: 0=5 1=1");
  const CommittedOffset* offset = shard.store().find({"g", "a", 0});
  EXPECT_EQ(offset->metadata, "note");
  EXPECT_EQ(offset->leader_epoch, LeaderEpoch{4});
  shard.runner().crash();
  EXPECT_EQ(shard.fetch("g", true), "a: 0=5 1=1");
}

TEST(TxnOffsetCommit, is_written_in_the_name_of_the_producer) {
  OffsetShard shard;
  shard.create_topic("a");
  const auto request = in_transaction(7, "g", {{"a", 0, 5}});
  auto [reply, answer] = reply_and_answer<TxnOffsetCommitResponse>();
  const Decision decision =
      shard.shard().commit_offsets_in_transaction(shard.runner().context(5), request, std::move(reply));
  ASSERT_TRUE(decision.producer);
  EXPECT_EQ(decision.producer->id, ProducerId{7});
  EXPECT_EQ(decision.producer->epoch, ProducerEpoch{3});
  EXPECT_EQ(decision.records.size(), 1u);
}

TEST(TxnOffsetCommit, by_topic_ids_from_version_6_on) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  auto request = in_transaction(7, "g", {{"", 0, 5}, {"", 7, 5}});
  ASSERT_EQ(request.topics.size(), 1u);
  request.topics[0].topic_id = id;
  EXPECT_EQ(commit(shard, request, 6), ": 7=3 0=0");
  request.topics[0].topic_id = Uuid::random();
  EXPECT_EQ(commit(shard, request, 6), ": 0=100 7=100");
}

TEST(TxnOffsetCommit, of_somebody_who_is_no_member_is_refused_as_the_version_knows) {
  OffsetShard shard;
  shard.create_topic("a");
  auto request = in_transaction(7, "g", {{"a", 0, 5}});
  request.generation_id_or_member_epoch = 3;
  request.member_id = "member";
  EXPECT_EQ(commit(shard, request, 5), "a: 0=22");
  request.topics[0].topic_id = shard.image().topic("a")->id;
  EXPECT_EQ(commit(shard, request, 6), "a: 0=69");
  shard.commit("g", {{"a", 1, 1}});  // now there is a group without members
  EXPECT_EQ(commit(shard, request, 5), "a: 0=25");
}

TEST(TxnOffsetCommit, metadata_that_is_too_large_leaves_the_rest) {
  OffsetShard shard;
  shard.create_topic("a");
  EXPECT_EQ(commit(shard, in_transaction(7, "g", {{"a", 0, 5, std::string(4097, 'x')}, {"a", 1, 6}})),
            "a: 0=12 1=0");
  shard.runner().end_transaction(ProducerId{7}, true);
  EXPECT_EQ(shard.fetch("g"), "a: 1=6");
}

TEST(TransactionalOffsets, count_once_the_transaction_is_committed) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}});
  shard.replay(offset_record({"g", "a", 0}, offset_at(5, id)), ProducerId{7});
  shard.replay(offset_record({"g", "a", 1}, offset_at(6, id)), ProducerId{8});
  EXPECT_EQ(shard.fetch("g"), "a: 0=1");
  shard.shard().end_transaction(ProducerId{7}, true);
  EXPECT_EQ(shard.fetch("g"), "a: 0=5");
  shard.shard().end_transaction(ProducerId{8}, false);
  shard.shard().end_transaction(ProducerId{9}, true);
  EXPECT_EQ(shard.fetch("g"), "a: 0=5");
  EXPECT_EQ(shard.store().pending().size(), 0u);
}

TEST(TransactionalOffsets, are_unstable_for_whoever_wants_to_know) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}, {"a", 2, 2}});
  shard.replay(offset_record({"g", "a", 0}, offset_at(5, id)), ProducerId{7});
  shard.replay(offset_record({"g", "a", 1}, offset_at(6, id)), ProducerId{7});
  EXPECT_EQ(shard.fetch("g", /*require_stable=*/true), "a: 0=!88 2=2");
  EXPECT_EQ(offsets_of(shard.ask(some_of("g", "a", {2, 1, 0}), 9, true)->response()), "a: 2=2 1=!88 0=!88");
  EXPECT_EQ(offsets_of(shard.ask(some_of("g", "a", {2, 1, 0}))->response()), "a: 2=2 1=-1 0=1");
  shard.shard().end_transaction(ProducerId{7}, false);
  EXPECT_EQ(shard.fetch("g", true), "a: 0=1 2=2");
}

TEST(TransactionalOffsets, of_several_open_transactions_stay_unstable_until_the_last_one_ends) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  for (const int64_t producer : {7, 8, 7})
    shard.replay(offset_record({"g", "a", 0}, offset_at(producer, id)), ProducerId{producer});
  shard.shard().end_transaction(ProducerId{8}, true);
  EXPECT_EQ(shard.fetch("g", true), "a: 0=!88");
  shard.shard().end_transaction(ProducerId{7}, false);
  EXPECT_EQ(shard.fetch("g", true), "a: 0=8");
}

TEST(TransactionalOffsets, do_not_replace_what_was_committed_later) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  shard.replay(offset_record({"g", "a", 0}, offset_at(5, id)), ProducerId{7}, 10);
  shard.replay(offset_record({"g", "a", 0}, offset_at(9, id)), no_producer_id, 11);
  shard.shard().end_transaction(ProducerId{7}, true);
  EXPECT_EQ(shard.fetch("g"), "a: 0=9");
  shard.replay(offset_record({"g", "a", 0}, offset_at(3, id)), ProducerId{7}, 12);
  shard.shard().end_transaction(ProducerId{7}, true);
  EXPECT_EQ(shard.fetch("g"), "a: 0=3");
}

TEST(TransactionalOffsets, go_with_a_tombstone) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  shard.commit("g", {{"a", 2, 1}});
  shard.replay(offset_record({"g", "a", 0}, offset_at(5, id)), ProducerId{7});
  shard.replay(offset_record({"g", "a", 1}, offset_at(5, id)), ProducerId{7});
  shard.replay(offset_record({"g", "a", 0}, offset_at(5, id)), ProducerId{8});
  OffsetDeleteRequest request;
  request.group_id = "g";
  request.topics.emplace_back().name = "a";
  request.topics[0].partitions.emplace_back().partition_index = 0;
  EXPECT_EQ(errors_of(shard.delete_offsets(request)->response()), "a: 0=0");
  shard.shard().end_transaction(ProducerId{8}, true);
  shard.shard().end_transaction(ProducerId{7}, true);
  EXPECT_EQ(shard.fetch("g"), "a: 1=5 2=1");
}

TEST(TransactionalOffsets, of_a_deleted_group_do_not_come_back) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}});
  shard.replay(offset_record({"g", "a", 0}, offset_at(5, id)), ProducerId{7});
  shard.replay(offset_record({"g", "a", 1}, offset_at(5, id)), ProducerId{7});
  EXPECT_EQ(shard.delete_group("g")->response().error_code, 0);
  shard.shard().end_transaction(ProducerId{7}, true);
  shard.commit("g", {{"a", 2, 1}});
  EXPECT_EQ(shard.fetch("g"), "a: 2=1");
}

}  // namespace
}  // namespace barnabas::coordinator
