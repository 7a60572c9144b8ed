#include "coordinator/offset_fetch.h"

#include <gtest/gtest.h>

#include "coordinator/offset_test_support.h"

namespace barnabas::coordinator {
namespace {

using namespace testing;

OffsetFetchRequest old_request() {
  OffsetFetchRequest request;
  request.group_id = "g";
  auto& topic = request.topics->emplace_back();
  topic.name = "a";
  topic.partition_indexes = {1, 0};
  return request;
}

TEST(OffsetFetch, all_of_a_group_comes_sorted) {
  OffsetShard shard;
  shard.create_topic("b");
  shard.create_topic("a");
  shard.commit("g", {{"b", 2, 2}, {"b", 0, 0}, {"a", 1, 1}});
  EXPECT_EQ(shard.fetch("g"), "a: 1=1; b: 0=0 2=2");
}

TEST(OffsetFetch, unknown_groups_topics_and_partitions_have_no_offsets) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}});
  EXPECT_EQ(shard.fetch("other"), "");
  EXPECT_EQ(offsets_of(shard.ask(some_of("other", "a", {0}))->response()), "a: 0=-1");
  EXPECT_EQ(offsets_of(shard.ask(some_of("g", "nope", {0}))->response()), "nope: 0=-1");
  EXPECT_EQ(offsets_of(shard.ask(some_of("g", "a", {9, -1, 0, 0}))->response()), "a: 9=-1 -1=-1 0=1 0=1");
  GroupToFetch nothing;
  nothing.group_id = "g";
  EXPECT_EQ(offsets_of(shard.ask(nothing)->response()), "");
}

TEST(OffsetFetch, by_topic_ids_puts_unknown_ones_last) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1}});
  auto asked = some_of("g", "", {0, 5});
  const Uuid unknown = Uuid::random();
  asked.topics->at(0).topic_id = unknown;
  asked.topics->emplace_back(asked.topics->at(0)).topic_id = id;
  auto answer = shard.ask(asked, 10);
  EXPECT_EQ(offsets_of(answer->response()), ": 0=1 5=-1; : 0=!100 5=!100");
  EXPECT_EQ(answer->response().topics.at(0).topic_id, id);
  EXPECT_EQ(answer->response().topics.at(1).topic_id, unknown);
  EXPECT_EQ(answer->response().topics.at(1).partitions.at(0).committed_offset, -1);

  answer = shard.ask(everything_of("g"), 10);
  EXPECT_EQ(answer->response().topics.at(0).topic_id, id);
}

TEST(OffsetFetch, an_answer_owns_what_the_store_may_forget) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1, "some metadata that fits into no small buffer"}});
  const auto answer = shard.ask(everything_of("g"));
  shard.delete_group("g");
  EXPECT_EQ(answer->response().topics.at(0).name, "a");
  EXPECT_TRUE(answer->response().topics.at(0).name.is_owner());
  EXPECT_TRUE(answer->response().topics.at(0).partitions.at(0).metadata->is_owner());
}

TEST(OffsetFetch, old_versions_ask_for_one_group) {
  auto request = old_request();
  const auto groups = groups_to_fetch(request, 7);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].group_id, "g");
  EXPECT_EQ(groups[0].member_epoch, -1);
  EXPECT_EQ(groups[0].topics->at(0).partition_indexes, (std::vector<int32_t>{1, 0}));
  auto all = old_request();
  all.topics.reset();
  EXPECT_FALSE(groups_to_fetch(all, 7).at(0).topics);
}

TEST(OffsetFetch, a_groups_error_is_where_the_version_has_a_place_for_it) {
  const auto refused = [&](int16_t version) {
    auto request = old_request();
    auto groups = groups_to_fetch(request, version);
    return fetch_response({refuse_fetch(groups.at(0), version, ErrorCode::not_coordinator)}, version);
  };
  const auto version_1 = refused(1);
  ASSERT_EQ(version_1.topics.size(), 1u);
  EXPECT_EQ(errors_of(version_1), "a: 1=16 0=16");
  EXPECT_EQ(version_1.topics[0].partitions[0].committed_offset, -1);
  for (const int16_t version : {2, 7}) {
    EXPECT_EQ(refused(version).error_code, 16) << version;
    EXPECT_TRUE(refused(version).topics.empty()) << version;
  }

  OffsetFetchRequest many;
  many.groups.push_back(everything_of("g"));
  many.groups.push_back(everything_of("h"));
  const auto groups = groups_to_fetch(many, 8);
  const auto response = fetch_response({refuse_fetch(groups.at(0), 8, ErrorCode::not_coordinator),
                                        refuse_fetch(groups.at(1), 8, ErrorCode::none)},
                                       8);
  ASSERT_EQ(response.groups.size(), 2u);
  EXPECT_EQ(response.groups[0].error_code, 16);
  EXPECT_EQ(response.groups[1].error_code, 0);
  EXPECT_EQ(response.error_code, 0);
}

TEST(OffsetFetch, offsets_in_old_versions_have_the_same_content) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 5, "m", 2}});
  auto request = old_request();
  const auto groups = groups_to_fetch(request, 5);
  const auto response = fetch_response({shard.ask(groups.at(0), 5)->response()}, 5);
  ASSERT_EQ(response.topics.size(), 1u);
  const auto& partitions = response.topics[0].partitions;
  EXPECT_EQ(partitions[0].committed_offset, -1);
  EXPECT_EQ(partitions[1].committed_offset, 5);
  EXPECT_EQ(partitions[1].committed_leader_epoch, 2);
  EXPECT_EQ(partitions[1].metadata, protocol::String("m"));
}

}  // namespace
}  // namespace barnabas::coordinator
