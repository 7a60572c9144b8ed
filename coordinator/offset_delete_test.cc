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

}  // namespace
}  // namespace barnabas::coordinator
