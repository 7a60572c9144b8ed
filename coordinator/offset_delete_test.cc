#include <gtest/gtest.h>

#include "coordinator/classic_group.h"
#include "coordinator/offset_records.h"
#include "coordinator/offset_test_support.h"

namespace barnabas::coordinator {
namespace {

using namespace testing;

OffsetDeleteRequest deletion(std::string_view group,
                             const std::vector<std::pair<std::string, std::vector<int32_t>>>& topics) {
  OffsetDeleteRequest request;
  request.group_id = group;
  for (const auto& [name, partitions] : topics) {
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    for (const int32_t index : partitions) topic.partitions.emplace_back().partition_index = index;
  }
  return request;
}

CommittedOffset offset_at(int64_t value, Uuid topic_id = {}) {
  CommittedOffset offset;
  offset.offset = value;
  offset.topic_id = topic_id;
  return offset;
}

TEST(OffsetDelete, takes_what_is_named_and_says_what_does_not_exist_first) {
  OffsetShard shard;
  for (const char* name : {"a", "b", "c"}) shard.create_topic(name);
  shard.commit("g", {{"a", 0, 1}, {"b", 0, 1}, {"b", 2, 1}, {"c", 0, 1}});
  const auto request = deletion("g", {{"c", {0, 1}}, {"nope", {0}}, {"b", {2, 9, 2}}, {"b", {0}}, {"a", {}}});
  const auto answer = shard.delete_offsets(request);
  EXPECT_EQ(answer->response().error_code, 0);
  EXPECT_EQ(errors_of(answer->response()), "nope: 0=3; b: 9=3 2=0 2=0 0=0; c: 0=0 1=0");
  EXPECT_EQ(shard.fetch("g"), "a: 0=1");
  shard.runner().crash();
  EXPECT_EQ(shard.fetch("g"), "a: 0=1");
}

TEST(OffsetDelete, a_topic_named_twice_is_answered_twice) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}});
  const auto request = deletion("g", {{"a", {0}}, {"a", {0}}});
  EXPECT_EQ(errors_of(shard.delete_offsets(request)->response()), "a: 0=0; a: 0=0");
}

TEST(OffsetDelete, of_no_group_is_refused) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("", {{"a", 0, 1}});
  const auto error_for = [&](std::string_view group) {
    const auto request = deletion(group, {{"a", {0}}});
    const auto answer = shard.delete_offsets(request);
    EXPECT_TRUE(answer->response().topics.empty());
    return answer->response().error_code;
  };
  EXPECT_EQ(error_for("other"), 69);
  EXPECT_EQ(error_for(""), 24);
}

TEST(DeleteGroups, leave_no_offset_behind) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}, {"a", 1, 1}});
  shard.commit("h", {{"a", 0, 1}});
  EXPECT_EQ(shard.delete_group("other")->response().error_code, 69);
  EXPECT_EQ(shard.delete_group("g")->response().error_code, 0);
  EXPECT_EQ(shard.delete_group("g")->response().error_code, 69);
  EXPECT_EQ(shard.fetch("g"), "");
  EXPECT_EQ(shard.fetch("h"), "a: 0=1");
  shard.runner().crash();
  EXPECT_EQ(shard.fetch("g"), "");
  shard.commit("g", {{"a", 2, 7}});
  EXPECT_EQ(shard.fetch("g"), "a: 2=7");
}

TEST(DeleteGroups, of_offsets_come_before_the_group_in_the_log) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}});
  shard.delete_group("g");
  const auto& log = shard.runner().log();
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log[1].record, offset_tombstone({"g", "a", 0}));
  EXPECT_NE(log[2].record.key, log[1].record.key);
  EXPECT_FALSE(log[2].record.value);
}

// --- transactions

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
  const auto request = deletion("g", {{"a", {0}}});
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
