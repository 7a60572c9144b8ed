#include <gtest/gtest.h>

#include "coordinator/offset_records.h"
#include "coordinator/offset_test_support.h"

namespace barnabas::coordinator {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::minutes;

void ten_minutes(GroupSettings& settings) {
  settings.offsets_retention = minutes(10);
  settings.offsets_check_interval = minutes(1);
}

CommittedOffset offset_at(int64_t value, Uuid topic_id = {}) {
  CommittedOffset offset;
  offset.offset = value;
  offset.topic_id = topic_id;
  return offset;
}

TEST(OffsetExpiry, each_offset_of_a_group_without_members_has_its_time) {
  OffsetShard shard(ten_minutes);
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}, {"a", 1, 1}});
  shard.runner().advance(minutes(5));
  shard.commit("g", {{"a", 1, 2}});
  shard.runner().advance(minutes(4));
  EXPECT_EQ(shard.fetch("g"), "a: 0=1 1=2");
  shard.runner().advance(minutes(2));
  EXPECT_EQ(shard.fetch("g"), "a: 1=2");
  shard.runner().crash();
  EXPECT_EQ(shard.fetch("g"), "a: 1=2");
  shard.runner().advance(minutes(5));
  EXPECT_EQ(shard.fetch("g"), "");
  EXPECT_EQ(shard.store().committed().size(), 0u);
}

TEST(OffsetExpiry, what_an_old_client_asked_for_goes_before_the_setting) {
  OffsetShard shard(ten_minutes);
  shard.create_topic("a");
  auto request = commit_request("g", {{"a", 0, 1}});
  request.retention_time_ms = 2 * 60'000;
  shard.commit(request, 3);
  request.topics[0].partitions[0].partition_index = 1;
  request.retention_time_ms = 20 * 60'000;
  shard.commit(request, 3);
  shard.runner().advance(minutes(3));
  EXPECT_EQ(shard.fetch("g"), "a: 1=1");
  shard.runner().advance(minutes(12));
  EXPECT_EQ(shard.fetch("g"), "a: 1=1");
  shard.runner().advance(minutes(6));
  EXPECT_EQ(shard.fetch("g"), "");
}

TEST(OffsetExpiry, waits_for_open_transactions) {
  OffsetShard shard(ten_minutes);
  const Uuid id = shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}, {"a", 1, 1}});
  shard.replay(offset_record({"g", "a", 0}, offset_at(5, id)), ProducerId{7});
  shard.runner().advance(minutes(15));
  EXPECT_EQ(shard.fetch("g"), "a: 0=1");
  shard.shard().end_transaction(ProducerId{7}, false);
  shard.runner().advance(minutes(1));
  EXPECT_EQ(shard.fetch("g"), "");
}

TEST(OffsetExpiry, that_cannot_be_appended_is_tried_again) {
  OffsetShard shard(ten_minutes);
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}});
  shard.runner().refuse_appends(ErrorCode::not_coordinator);
  shard.runner().advance(minutes(15));
  EXPECT_EQ(shard.fetch("g"), "a: 0=1");
  shard.runner().refuse_appends(ErrorCode::none);
  shard.runner().advance(minutes(1));
  EXPECT_EQ(shard.fetch("g"), "");
}

TEST(OffsetExpiry, of_very_many_comes_in_several_batches) {
  OffsetShard shard(ten_minutes);
  shard.create_topic("a", 20'000);
  std::vector<PartitionOffset> all;
  for (int32_t i = 0; i < 20'000; ++i) all.push_back({"a", i, 1});
  shard.commit("g", all);
  const std::size_t before = shard.runner().log().size();
  shard.runner().advance(minutes(10) + milliseconds(1));
  EXPECT_EQ(shard.fetch("g"), "");
  EXPECT_EQ(shard.store().committed().size(), 0u);
  EXPECT_GT(shard.runner().log().size(), before + 20'000);  // and the group's own
}

// --- topics

TEST(DeletedTopics, take_their_offsets_along) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.create_topic("b");
  shard.commit("g", {{"a", 0, 1}, {"b", 0, 2}});
  shard.delete_topic("a");
  EXPECT_EQ(shard.fetch("g"), "b: 0=2");
  EXPECT_EQ(shard.store().committed().size(), 1u);
  shard.create_topic("a");
  EXPECT_EQ(shard.fetch("g"), "b: 0=2");
  shard.runner().crash();
  EXPECT_EQ(shard.fetch("g"), "b: 0=2");
}

TEST(DeletedTopics, while_nobody_led_the_shard_take_their_offsets_along) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.create_topic("b");
  shard.commit("g", {{"a", 0, 1}, {"b", 0, 2}});
  shard.delete_topic("a", /*tell=*/false);
  shard.runner().crash();
  EXPECT_EQ(shard.fetch("g"), "b: 0=2");
  EXPECT_EQ(shard.store().committed().size(), 1u);
}

TEST(DeletedTopics, that_were_made_again_begin_without_offsets) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}, {"a", 1, 1}});
  shard.delete_topic("a", /*tell=*/false);
  shard.create_topic("a");
  EXPECT_EQ(shard.fetch("g"), "");
  EXPECT_EQ(offsets_of(shard.ask(some_of("g", "a", {0}))->response()), "a: 0=-1");
  shard.commit("g", {{"a", 1, 7}});
  shard.runner().crash();
  EXPECT_EQ(shard.fetch("g"), "a: 1=7");
  EXPECT_EQ(shard.store().committed().size(), 1u);
}

TEST(DeletedTopics, keep_offsets_without_a_topic_id_while_there_is_one_of_the_name) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.replay(offset_record({"g", "a", 0}, offset_at(5)));
  EXPECT_EQ(shard.fetch("g"), "a: 0=5");
  shard.delete_topic("a");
  EXPECT_EQ(shard.store().committed().size(), 0u);
}

TEST(DeletedTopics, take_pending_offsets_along_but_not_those_of_the_new_topic) {
  OffsetShard shard;
  const Uuid old_id = shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}});
  shard.delete_topic("a", /*tell=*/false);
  const Uuid new_id = shard.create_topic("a");
  shard.commit("g", {{"a", 0, 2}});
  shard.replay(offset_record({"g", "a", 0}, offset_at(5, old_id)), ProducerId{7}, 0);
  shard.replay(offset_record({"g", "a", 1}, offset_at(5, old_id)), ProducerId{7}, 1);
  shard.create_topic("b");
  shard.delete_topic("b");
  EXPECT_EQ(shard.store().pending().size(), 1u);
  shard.shard().end_transaction(ProducerId{7}, true);
  EXPECT_EQ(shard.fetch("g"), "a: 0=2");
  EXPECT_EQ(shard.store().find({"g", "a", 0})->topic_id, new_id);
}

TEST(DeletedTopics, are_tried_again_when_the_tombstones_are_refused) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}});
  shard.runner().refuse_appends(ErrorCode::not_coordinator);
  shard.delete_topic("a");
  EXPECT_EQ(shard.fetch("g"), "");
  EXPECT_EQ(shard.store().committed().size(), 1u);
  shard.runner().refuse_appends(ErrorCode::none);
  shard.runner().advance(std::chrono::seconds(2));
  EXPECT_EQ(shard.store().committed().size(), 0u);
  EXPECT_EQ(shard.shard().timers().size(), 1u);
}

}  // namespace
}  // namespace barnabas::coordinator
