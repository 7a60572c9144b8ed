#include "coordinator/offset_commit.h"

#include <gtest/gtest.h>

#include "coordinator/classic_group.h"
#include "coordinator/offset_records.h"
#include "coordinator/offset_test_support.h"

namespace barnabas::coordinator {
namespace {

using namespace testing;

CommittedOffset last_written(OffsetShard& shard) {
  const Record& record = shard.runner().log().back().record;
  return *decode_offset_value(offset_record_type, *record.value, Offset{0});
}

TEST(OffsetCommit, what_was_committed_is_told_with_epoch_and_metadata) {
  OffsetShard shard;
  shard.create_topic("a");
  EXPECT_EQ(shard.commit("g", {{"a", 0, 10, "note", 7}, {"a", 2, 12}}), "a: 0=0 2=0");
  const auto answer = shard.ask(some_of("g", "a", {2, 0, 1}));
  const auto& partitions = answer->response().topics.at(0).partitions;
  EXPECT_EQ(offsets_of(answer->response()), "a: 2=12 0=10 1=-1");
  EXPECT_EQ(partitions[1].committed_leader_epoch, 7);
  EXPECT_EQ(partitions[1].metadata, protocol::String("note"));
  EXPECT_EQ(partitions[0].committed_leader_epoch, -1);
  EXPECT_EQ(partitions[2].metadata, protocol::String(""));
}

TEST(OffsetCommit, the_last_one_counts_whatever_its_offset) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 10}, {"a", 0, 4}});
  EXPECT_EQ(shard.fetch("g"), "a: 0=4");
  shard.commit("g", {{"a", 0, -5}});
  EXPECT_EQ(shard.fetch("g"), "a: 0=-5");
}

TEST(OffsetCommit, is_not_answered_before_it_is_durable) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.runner().durable_at_once(false);
  const auto request = commit_request("g", {{"a", 0, 10}});
  const auto committed = shard.commit(request);
  const auto asked = shard.ask(everything_of("g"));
  EXPECT_FALSE(committed->came());
  EXPECT_FALSE(asked->came());
  shard.runner().make_durable();
  EXPECT_EQ(errors_of(committed->response()), "a: 0=0");
  EXPECT_EQ(offsets_of(asked->response()), "a: 0=10");
}

TEST(OffsetCommit, that_cannot_be_appended_changes_nothing) {
  OffsetShard shard;
  shard.create_topic("a");
  shard.commit("g", {{"a", 0, 10}});
  shard.runner().refuse_appends(ErrorCode::not_coordinator);
  const auto request = commit_request("g", {{"a", 0, 11}, {"b", 0, 1}});
  EXPECT_EQ(shard.commit(request)->refused(), ErrorCode::not_coordinator);
  EXPECT_EQ(errors_of(refuse_commit(request, 9, shard.image(), ErrorCode::not_coordinator)),
            "b: 0=3; a: 0=16");
  EXPECT_EQ(shard.fetch("g"), "a: 0=10");
}

TEST(OffsetCommit, good_topics_are_answered_in_the_order_of_the_request) {
  OffsetShard shard;
  for (const char* name : {"a", "b", "c"}) shard.create_topic(name);
  EXPECT_EQ(shard.commit("g", {{"c", 1, 1}, {"a", 0, 1}, {"b", 2, 1}, {"b", 0, 1}, {"a", 1, 1}}),
            "c: 1=0; a: 0=0; b: 2=0 0=0; a: 1=0");
}

TEST(OffsetCommit, what_does_not_exist_is_answered_first) {
  OffsetShard shard;
  for (const char* name : {"a", "b", "c"}) shard.create_topic(name);
  EXPECT_EQ(
      shard.commit("g", {{"c", 0, 1}, {"nope", 0, 1}, {"a", 1, 1}, {"a", 7, 1}, {"a", -1, 1}, {"b", 0, 1}}),
      "nope: 0=3; a: 7=3 -1=3 1=0; c: 0=0; b: 0=0");
  EXPECT_EQ(shard.fetch("g"), "a: 1=1; b: 0=1; c: 0=1");
}

TEST(OffsetCommit, without_any_partition_that_exists_asks_no_group) {
  OffsetShard shard;
  shard.create_topic("a");
  auto request = commit_request("g", {{"nope", 0, 1}});
  request.generation_id_or_member_epoch = 3;
  request.member_id = "m";
  EXPECT_EQ(errors_of(shard.commit(request)->response()), "nope: 0=3");
  request.topics.clear();
  EXPECT_EQ(errors_of(shard.commit(request)->response()), "");
  EXPECT_TRUE(shard.runner().log().empty());
}

TEST(OffsetCommit, by_topic_ids_from_version_10_on) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  auto request = commit_request("g", {{"", 0, 5}});
  request.topics[0].topic_id = id;
  auto answer = shard.commit(request, 10);
  EXPECT_EQ(answer->response().topics.at(0).topic_id, id);
  EXPECT_EQ(errors_of(answer->response()), ": 0=0");
  EXPECT_EQ(shard.fetch("g"), "a: 0=5");

  const Uuid unknown = Uuid::random();
  request.topics.emplace_back(request.topics[0]).topic_id = unknown;
  request.topics.emplace_back(request.topics[0]).topic_id = Uuid{};
  request.topics[0].partitions[0].committed_offset = 6;
  answer = shard.commit(request, 10);
  ASSERT_EQ(answer->response().topics.size(), 3u);
  EXPECT_EQ(answer->response().topics[0].topic_id, unknown);
  EXPECT_EQ(answer->response().topics[1].topic_id, Uuid{});
  EXPECT_EQ(answer->response().topics[2].topic_id, id);
  EXPECT_EQ(errors_of(answer->response()), ": 0=100; : 0=100; : 0=0");
  EXPECT_EQ(shard.fetch("g"), "a: 0=6");
}

TEST(OffsetCommit, metadata_is_limited_in_units_of_utf16) {
  OffsetShard shard;
  shard.create_topic("a");
  const auto times = [](int count, std::string_view text) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_EQ(shard.commit("g", {{"a", 0, 1, times(4096, "x")}, {"a", 1, 1, times(4097, "x")}}), "a: 0=0 1=12");
  EXPECT_EQ(shard.commit("g", {{"a", 0, 2, times(4096, "é")}, {"a", 1, 2, times(4097, "é")}}), "a: 0=0 1=12");
  EXPECT_EQ(shard.commit("g", {{"a", 0, 3, times(2048, "😀")}, {"a", 1, 3, times(2049, "😀")}}),
            "a: 0=0 1=12");
  EXPECT_EQ(shard.fetch("g"), "a: 0=3");
}

TEST(OffsetCommit, null_metadata_is_empty) {
  OffsetShard shard;
  shard.create_topic("a");
  auto request = commit_request("g", {{"a", 0, 1}});
  request.topics[0].partitions[0].committed_metadata.reset();
  EXPECT_EQ(errors_of(shard.commit(request)->response()), "a: 0=0");
  EXPECT_EQ(shard.ask(everything_of("g"))->response().topics.at(0).partitions.at(0).metadata,
            protocol::String(""));
}

TEST(OffsetCommit, without_membership_makes_a_group) {
  OffsetShard shard;
  shard.create_topic("a");
  auto request = commit_request("g", {{"a", 0, 1}});
  request.member_id = "whoever";
  request.group_instance_id = protocol::String("i");
  EXPECT_EQ(errors_of(shard.commit(request)->response()), "a: 0=0");
  EXPECT_EQ(shard.fetch("g"), "a: 0=1");
  EXPECT_EQ(shard.commit("", {{"a", 0, 2}}), "a: 0=0");
  EXPECT_EQ(shard.fetch(""), "a: 0=2");
}

TEST(OffsetCommit, of_nothing_but_too_large_metadata_makes_a_group_all_the_same) {
  OffsetShard shard;
  shard.create_topic("a");
  EXPECT_EQ(shard.delete_group("g")->response().error_code, 69);
  EXPECT_EQ(shard.commit("g", {{"a", 0, 1, std::string(5'000, 'x')}}), "a: 0=12");
  EXPECT_EQ(shard.fetch("g"), "");
  EXPECT_EQ(shard.delete_group("g")->response().error_code, 0);
}

TEST(OffsetCommit, of_a_generation_that_nobody_began_is_refused) {
  OffsetShard shard;
  shard.create_topic("a");
  auto request = commit_request("g", {{"a", 0, 1}});
  request.generation_id_or_member_epoch = 0;
  request.member_id = "m";
  EXPECT_EQ(errors_of(shard.commit(request, 8)->response()), "a: 0=22");
  EXPECT_EQ(errors_of(shard.commit(request, 9)->response()), "a: 0=69");
  shard.commit("g", {{"a", 0, 5}});
  EXPECT_EQ(errors_of(shard.commit(request, 9)->response()), "a: 0=25");
  EXPECT_EQ(shard.fetch("g"), "a: 0=5");
}

TEST(OffsetCommit, keeps_the_brokers_time_and_the_topics_id) {
  OffsetShard shard;
  const Uuid id = shard.create_topic("a");
  shard.commit("g", {{"a", 0, 1, "m", 3}});
  const CommittedOffset written = last_written(shard);
  EXPECT_EQ(written.committed_at, shard.runner().now().wall);
  EXPECT_EQ(written.expires_at, no_timestamp);
  EXPECT_EQ(written.topic_id, id);
  EXPECT_EQ(written.leader_epoch, LeaderEpoch{3});
}

TEST(OffsetCommit, clients_of_old_versions_say_when_it_expires) {
  OffsetShard shard;
  shard.create_topic("a");
  auto request = commit_request("g", {{"a", 0, 1}});
  const auto expiry_for = [&](int64_t retention) {
    request.retention_time_ms = retention;
    shard.commit(request, 4);
    return last_written(shard).expires_at;
  };
  const TimestampMs now = shard.runner().now().wall;
  EXPECT_EQ(expiry_for(-1), no_timestamp);
  EXPECT_EQ(expiry_for(5'000), now + 5'000);
  EXPECT_EQ(expiry_for(0), now);
  EXPECT_EQ(expiry_for(-5), now - 5);
  EXPECT_EQ(expiry_for(std::numeric_limits<int64_t>::min()), TimestampMs{0});
  EXPECT_EQ(expiry_for(std::numeric_limits<int64_t>::max()), no_timestamp);
}

// A group of the consumer protocol as far as commits are concerned.
class PickyGroup final : public Group {
 public:
  PickyGroup() : Group("g") {}
  GroupType type() const override { return GroupType::consumer; }
  std::string_view state_name() const override { return "Stable"; }
  std::string_view protocol_type() const override { return "consumer"; }
  bool is_empty() const override { return false; }
  ErrorCode validate_offset_commit(std::string_view, const std::optional<std::string>&, int32_t, bool,
                                   int16_t) const override {
    return ErrorCode::none;
  }
  ErrorCode validate_partition_commit(std::string_view, int32_t, const Uuid&,
                                      int32_t partition) const override {
    return partition == 1 ? ErrorCode::stale_member_epoch : ErrorCode::none;
  }
  ErrorCode validate_offset_fetch(const std::optional<std::string>& member, int32_t) const override {
    return member ? ErrorCode::stale_member_epoch : ErrorCode::none;
  }
  ErrorCode validate_offset_delete() const override { return ErrorCode::none; }
  ErrorCode validate_delete() const override { return ErrorCode::non_empty_group; }
  bool is_subscribed_to(std::string_view topic) const override { return topic == "a"; }
  bool offset_is_expired(const OffsetAge&, TimestampMs, std::chrono::milliseconds) const override {
    return false;
  }
  void tombstones(std::vector<Record>&) const override {}
  bool may_be_removed(TimestampMs) const override { return false; }
  void note_alive(std::string_view, const Now&) override {}
};

TEST(OffsetCommit, one_partition_that_a_member_may_not_commit_refuses_all) {
  metadata::MetadataImagePtr image;
  {
    OffsetShard shard;
    shard.create_topic("a");
    image = std::make_shared<metadata::MetadataImage>(shard.image());
  }
  const metadata::StaticConfig config;
  ShardEnvironment environment{.node = NodeId(1), .config = config, .settings = {}, .image = image};
  GroupTable groups;
  groups.put(std::make_unique<PickyGroup>());
  OffsetProtocol offsets(environment, groups);

  auto request = commit_request("g", {{"a", 0, 1}, {"a", 1, 1}});
  request.generation_id_or_member_epoch = 3;
  const RequestContext context{.version = 9, .client_id = {}, .client_host = {}, .now = {}};
  const auto commit = [&] {
    auto [reply, answer] = reply_and_answer<OffsetCommitResponse>();
    auto decision = offsets.commit(context, request, std::move(reply));
    decision.replies.at(0)(ErrorCode::none);
    return std::pair(decision.records.size(), errors_of(answer->response()));
  };
  EXPECT_EQ(commit(), std::pair(std::size_t{0}, std::string("a: 0=113 1=113")));
  // Not asked for what is refused anyway.
  request.topics[0].partitions[1].committed_metadata = protocol::String(std::string(5000, 'x'));
  EXPECT_EQ(commit(), std::pair(std::size_t{1}, std::string("a: 0=0 1=12")));

  auto asked = everything_of("g");
  asked.member_id = protocol::String("m");
  auto [reply, answer] = reply_and_answer<FetchedGroup>();
  offsets.fetch(context, asked, false, std::move(reply)).replies.at(0)(ErrorCode::none);
  EXPECT_EQ(offsets_of(answer->response()), "!113");
}

}  // namespace
}  // namespace barnabas::coordinator
