#include <gtest/gtest.h>

#include "coordinator/consumer_embedded.h"
#include "coordinator/consumer_test_support.h"
#include "protocol/messages/consumer_protocol_assignment.h"
#include "protocol/messages/consumer_protocol_subscription.h"

/// A group changes between the protocols while members of both are in it.
namespace barnabas::coordinator::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using List = std::vector<int32_t>;

protocol::Bytes subscription(const List& owned, int16_t version = 1) {
  protocol::ConsumerProtocolSubscription message;
  message.topics = {"t"};
  if (!owned.empty()) {
    auto& one = message.owned_partitions.emplace_back();
    one.topic = "t";
    one.partitions = owned;
  }
  return embedded(message, version);
}

protocol::Bytes assignment(const List& partitions, std::string_view user_data = {}) {
  protocol::ConsumerProtocolAssignment message;
  auto& one = message.assigned_partitions.emplace_back();
  one.topic = "t";
  one.partitions = partitions;
  if (!user_data.empty()) message.user_data = protocol::Bytes::of_text(user_data);
  return embedded(message, 1);
}

/// What a SyncGroup brought.
List partitions_in(const protocol::SyncGroupResponse& response) {
  const auto read = read_assignment(response.assignment);
  return read && read->partitions.contains("t") ? read->partitions.at("t") : List{};
}

class Migration : public ::testing::Test {
 protected:
  explicit Migration(std::function<void(ShardEnvironment&)> adjust = {}) : shard(std::move(adjust)) {
    shard.set_topic("t", 4);
  }

  template <class Request, class Call>
  typename Request::Response ask(Call call, const Request& request, int16_t version) {
    auto [reply, answer] = reply_and_answer<typename Request::Response>();
    shard.runner.carry_out(
        (shard.runner.shard().*call)(shard.runner.context(version), request, std::move(reply)));
    shard.runner.advance(milliseconds(0));
    if (!answer->came()) shard.runner.advance(seconds(3));  // the first rebalance of a classic group
    EXPECT_TRUE(answer->came());
    if (answer->came() && answer->content->has_value()) return answer->response();
    typename Request::Response refused;
    refused.error_code = protocol::to_wire(answer->came() ? answer->refused() : ErrorCode::none);
    return refused;
  }

  static protocol::JoinGroupRequest classic_join(std::string_view id, const List& owned = {}) {
    protocol::JoinGroupRequest request;
    request.group_id = "g";
    request.member_id = id;
    request.protocol_type = "consumer";
    request.session_timeout_ms = 10'000;
    request.rebalance_timeout_ms = 20'000;
    auto& protocol = request.protocols.emplace_back();
    protocol.name = "range";
    protocol.metadata = subscription(owned);
    return request;
  }

  protocol::JoinGroupResponse join(std::string_view id, const List& owned = {}) {
    return ask(&GroupShard::join_group, classic_join(id, owned), 3);
  }

  /// It waits for others.
  AnswerPtr<protocol::JoinGroupResponse> join_and_wait(const protocol::JoinGroupRequest& request) {
    auto [reply, answer] = reply_and_answer<protocol::JoinGroupResponse>();
    shard.runner.carry_out(
        shard.runner.shard().join_group(shard.runner.context(3), request, std::move(reply)));
    EXPECT_FALSE(answer->came());
    return answer;
  }

  protocol::SyncGroupResponse sync(std::string_view id, int32_t generation, std::optional<List> leads = {}) {
    protocol::SyncGroupRequest request;
    request.group_id = "g";
    request.member_id = id;
    request.generation_id = generation;
    if (leads) {
      auto& one = request.assignments.emplace_back();
      one.member_id = id;
      one.assignment = assignment(*leads, user_data);
    }
    return ask(&GroupShard::sync_group, request, 3);
  }

  ErrorCode beat(std::string_view id, int32_t generation) {
    protocol::HeartbeatRequest request;
    request.group_id = "g";
    request.member_id = id;
    request.generation_id = generation;
    return static_cast<ErrorCode>(ask(&GroupShard::heartbeat, request, 3).error_code);
  }

  /// A classic group of one member with all partitions; gives its id.
  std::string classic_member() {
    const std::string id = join("").member_id.str();
    EXPECT_EQ(sync(id, 1, List{0, 1, 2, 3}).error_code, 0);
    return id;
  }

  ConsumerGroupHeartbeatResponse consumer_joins(std::string_view id = "c") {
    return shard.heartbeat(join_request("g", id, {"t"})).value();
  }

  std::string_view state() { return shard.runner.shard().groups().find("g")->state_name(); }
  GroupType type() { return shard.runner.shard().groups().find("g")->type(); }

  std::string user_data;
  ConsumerShard shard;
};

TEST_F(Migration, a_classic_group_goes_on_with_its_members_and_their_partitions) {
  const std::string classic = classic_member();
  const auto joined = consumer_joins();
  EXPECT_EQ(joined.error_code, 0);
  EXPECT_EQ(joined.member_epoch, 2);
  const ConsumerGroup* group = shard.group("g");
  ASSERT_NE(group, nullptr);
  const ConsumerMember* member = group->member(classic);
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->epoch, 1);
  EXPECT_EQ(partitions_of(member->assigned).begin()->second, (List{0, 1, 2, 3}));

  // It hears of it, gives up what the other one gets, and only then that gets it.
  EXPECT_EQ(beat(classic, 1), ErrorCode::rebalance_in_progress);
  const List keeps = group->target(classic).begin()->second;
  EXPECT_EQ(join(classic, {0, 1, 2, 3}).generation_id, 1);
  EXPECT_EQ(partitions_in(sync(classic, 1)), keeps);
  EXPECT_TRUE(shard.heartbeat(heartbeat_request("g", "c", 2))->assignment == std::nullopt);
  EXPECT_EQ(beat(classic, 1), ErrorCode::rebalance_in_progress);
  EXPECT_EQ(join(classic, keeps).generation_id, 2);
  EXPECT_EQ(partitions_in(sync(classic, 2)), keeps);
  EXPECT_EQ(beat(classic, 2), ErrorCode::none);
  const auto got = shard.heartbeat(heartbeat_request("g", "c", 2));
  ASSERT_TRUE(got->assignment);
  EXPECT_EQ(got->assignment->topic_partitions.at(0).partitions.size(), 2u);
  EXPECT_EQ(state(), "Stable");
}

TEST_F(Migration, both_ways_survive_a_crash_after_each_batch) {
  const std::string classic = classic_member();
  shard.runner.crash();
  consumer_joins();
  shard.runner.crash();
  EXPECT_EQ(type(), GroupType::consumer);
  EXPECT_EQ(beat(classic, 1), ErrorCode::rebalance_in_progress);
  const auto left = shard.heartbeat(heartbeat_request("g", "c", leave_epoch));
  EXPECT_EQ(left->error_code, 0);
  EXPECT_EQ(type(), GroupType::classic);
  EXPECT_EQ(state(), "PreparingRebalance");
  shard.runner.crash();
  EXPECT_EQ(type(), GroupType::classic);
  EXPECT_EQ(state(), "Stable");
  EXPECT_EQ(beat(classic, 2), ErrorCode::none);
}

TEST_F(Migration, a_refused_append_leaves_the_classic_group_as_it_was) {
  const std::string classic = classic_member();
  shard.runner.refuse_appends(ErrorCode::coordinator_not_available);
  EXPECT_EQ(shard.heartbeat(join_request("g", "c", {"t"})), std::nullopt);
  shard.runner.refuse_appends(ErrorCode::none);
  EXPECT_EQ(type(), GroupType::classic);
  EXPECT_EQ(beat(classic, 1), ErrorCode::none);
  shard.runner.advance(seconds(11));  // its session goes on to count
  EXPECT_EQ(state(), "Empty");
}

TEST_F(Migration, who_waits_in_the_classic_group_is_told_to_join_again) {
  const std::string classic = classic_member();
  const auto request = classic_join("");  // another one, which waits for the first to join again
  const auto answer = join_and_wait(request);
  consumer_joins();
  ASSERT_TRUE(answer->came());
  EXPECT_EQ(answer->response().error_code, protocol::to_wire(ErrorCode::rebalance_in_progress));
  EXPECT_EQ(shard.group("g")->members().size(), 3u);
}

TEST_F(Migration, the_last_consumer_that_goes_leaves_a_classic_group_however_it_goes) {
  const std::string classic = classic_member();
  consumer_joins();
  for (int i = 0; i < 8; ++i) {  // the session of the other one ends after 45 s
    shard.runner.advance(seconds(5));
    const auto epoch = [&] { return shard.group("g")->member(classic)->epoch; };
    if (beat(classic, epoch()) == ErrorCode::none) continue;
    join(classic, shard.group("g")->target(classic).begin()->second);
    sync(classic, epoch());
  }
  EXPECT_EQ(type(), GroupType::consumer);
  shard.runner.advance(seconds(5));
  shard.runner.advance(seconds(1));
  EXPECT_EQ(type(), GroupType::classic);
}

TEST_F(Migration, a_classic_member_that_does_not_join_again_in_time_is_put_out) {
  const std::string classic = classic_member();
  consumer_joins();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(beat(classic, 1), ErrorCode::rebalance_in_progress);
    shard.runner.advance(seconds(6));
  }
  EXPECT_EQ(beat(classic, 1), ErrorCode::rebalance_in_progress);
  shard.runner.advance(seconds(3));
  EXPECT_EQ(beat(classic, 1), ErrorCode::unknown_member_id);
}

TEST_F(Migration, a_classic_member_that_joins_and_does_not_fetch_its_share_is_put_out) {
  consumer_joins();
  const std::string classic = join("").member_id.str();
  for (int i = 0; i < 3; ++i) {
    beat(classic, shard.group("g")->member(classic)->epoch);
    shard.runner.advance(seconds(6));
    ASSERT_NE(shard.group("g")->member(classic), nullptr);
    shard.heartbeat(heartbeat_request("g", "c", shard.group("g")->member("c")->epoch));
  }
  beat(classic, shard.group("g")->member(classic)->epoch);
  shard.runner.advance(seconds(3));
  EXPECT_EQ(shard.group("g")->member(classic), nullptr);
}

TEST_F(Migration, a_group_whose_members_have_all_gone_while_it_waited_for_them_changes_too) {
  const std::string classic = classic_member();
  const auto later = ask(&GroupShard::join_group, classic_join(""), 9);
  EXPECT_EQ(later.error_code, protocol::to_wire(ErrorCode::member_id_required));
  const auto request = classic_join(classic);
  const auto answer = join_and_wait(request);  // for the one that got an id
  protocol::LeaveGroupRequest leave;
  leave.group_id = "g";
  leave.members.emplace_back().member_id = classic;
  EXPECT_EQ(ask(&GroupShard::leave_group, leave, 3).error_code, 0);
  EXPECT_TRUE(answer->came());
  EXPECT_EQ(state(), "PreparingRebalance");
  EXPECT_EQ(consumer_joins().error_code, 0);
  EXPECT_EQ(shard.group("g")->members().size(), 1u);
}

TEST_F(Migration, what_a_member_has_and_was_not_given_again_is_its_own_until_it_has_given_it_up) {
  const std::string classic = classic_member();
  const auto request = classic_join("");
  const auto answer = join_and_wait(request);
  EXPECT_EQ(join(classic, {0, 1, 2, 3}).generation_id, 2);  // cooperative: it goes on with all of it
  EXPECT_EQ(partitions_in(sync(classic, 2, List{0, 1})), (List{0, 1}));
  const auto joined = consumer_joins();
  EXPECT_TRUE(joined.assignment->topic_partitions.empty());
  EXPECT_EQ(partitions_of(shard.group("g")->member(classic)->pending_revocation).begin()->second,
            (List{2, 3}));

  EXPECT_EQ(beat(classic, 2), ErrorCode::rebalance_in_progress);
  join(classic, {0, 1});
  EXPECT_TRUE(shard.group("g")->member(classic)->pending_revocation.empty());
  const auto got = shard.heartbeat(heartbeat_request("g", "c", joined.member_epoch));
  EXPECT_FALSE(got->assignment->topic_partitions.empty());
}

TEST_F(Migration, who_was_put_out_and_believes_to_own_something_is_told_to_let_go) {
  consumer_joins();
  EXPECT_EQ(join("stranger", {0}).error_code, protocol::to_wire(ErrorCode::unknown_member_id));
  EXPECT_EQ(join("stranger").error_code, 0);  // its id may have been handed out
}

TEST_F(Migration, an_assignor_of_the_application_does_not_lose_what_it_wrote) {
  user_data = "mine";
  classic_member();
  const auto refused = consumer_joins();
  EXPECT_EQ(refused.error_code, protocol::to_wire(ErrorCode::group_id_not_found));
  EXPECT_NE(refused.error_message->view().find("unsupported custom assignor"), std::string_view::npos);
  EXPECT_EQ(type(), GroupType::classic);
}

class OnlyUpgrades : public Migration {
 protected:
  OnlyUpgrades() : Migration([](ShardEnvironment& environment) { environment.settings.downgrade = false; }) {}
};

TEST_F(OnlyUpgrades, classic_members_that_are_left_among_themselves_get_what_is_free) {
  const std::string classic = classic_member();
  const int32_t epoch = consumer_joins().member_epoch;
  EXPECT_EQ(beat(classic, 1), ErrorCode::rebalance_in_progress);
  join(classic, {0, 1, 2, 3});
  const List keeps = partitions_in(sync(classic, 1));
  EXPECT_EQ(join(classic, keeps).generation_id, epoch);
  EXPECT_EQ(shard.heartbeat(heartbeat_request("g", "c", leave_epoch))->error_code, 0);
  EXPECT_EQ(type(), GroupType::consumer);

  shard.runner.advance(seconds(2));
  EXPECT_EQ(beat(classic, epoch), ErrorCode::rebalance_in_progress);
  EXPECT_EQ(join(classic, keeps).generation_id, epoch + 1);
  EXPECT_EQ(partitions_in(sync(classic, epoch + 1)), (List{0, 1, 2, 3}));
  EXPECT_EQ(beat(classic, epoch + 1), ErrorCode::none);

  shard.set_topic("t", 5);
  shard.runner.advance(seconds(2));
  EXPECT_EQ(beat(classic, epoch + 1), ErrorCode::rebalance_in_progress);
  EXPECT_EQ(join(classic, {0, 1, 2, 3}).generation_id, epoch + 2);
  EXPECT_EQ(partitions_in(sync(classic, epoch + 2)), (List{0, 1, 2, 3, 4}));
  EXPECT_EQ(beat(classic, epoch + 2), ErrorCode::none);
}

class NoMigration : public Migration {
 protected:
  NoMigration()
      : Migration([](ShardEnvironment& environment) {
          environment.settings.upgrade = false;
          environment.settings.downgrade = false;
        }) {}
};

TEST_F(NoMigration, groups_keep_their_protocol) {
  const std::string classic = classic_member();
  EXPECT_EQ(consumer_joins().error_message->view(),
            "Cannot upgrade classic group g to consumer group because online upgrade is disabled.");
  EXPECT_EQ(beat(classic, 1), ErrorCode::none);
  shard.runner.advance(seconds(11));
  EXPECT_EQ(consumer_joins().error_code, 0);  // an empty one may change
  EXPECT_EQ(join("").error_code, protocol::to_wire(ErrorCode::inconsistent_group_protocol));
}

TEST(EmbeddedProtocol, what_does_not_decode_is_nothing) {
  for (const std::string_view bytes :
       {std::string_view(""), std::string_view("x"), std::string_view("\xff\xff", 2),
        std::string_view("\0\1\x7f\xff\xff\xff", 6)}) {
    EXPECT_FALSE(read_subscription(as_byte_view(bytes)));
    EXPECT_FALSE(read_assignment(as_byte_view(bytes)));
  }
  const auto newer = embedded(protocol::ConsumerProtocolSubscription(), 3);
  std::vector<std::byte> bytes(newer.view().begin(), newer.view().end());
  bytes[1] = std::byte{99};
  EXPECT_EQ(read_subscription(bytes)->version, 99);
}

/// What a group of a thousand costs; the bounds are those of a slow machine without optimization.
TEST(ConsumerScale, a_thousand_members_join_and_then_cost_nothing) {
  ConsumerShard shard;
  shard.set_topic("t", 2'000);
  for (int i = 0; i < 1'000; ++i) shard.heartbeat(join_request("g", "m" + std::to_string(i), {"t"}));
  for (int round = 0; round < 4; ++round) {
    shard.runner.advance(seconds(2));
    for (int i = 0; i < 1'000; ++i) {
      const std::string id = "m" + std::to_string(i);
      const ConsumerMember& member = *shard.group("g")->member(id);
      auto request = heartbeat_request("g", id, member.epoch);
      report(request, partitions_of(member.assigned));
      shard.heartbeat(request);
    }
  }
  EXPECT_EQ(shard.group("g")->state_name(), "Stable");
  for (const auto& [id, member] : shard.group("g")->members())
    EXPECT_EQ(partitions_of(member.assigned).begin()->second.size(), 2u);

  const std::size_t records = shard.runner.log().size();
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < 20'000; ++i) {
    const std::string id = "m" + std::to_string(i % 1'000);
    EXPECT_EQ(shard.heartbeat(heartbeat_request("g", id, shard.group("g")->epoch()))->error_code, 0);
  }
  const auto took = std::chrono::steady_clock::now() - started;
  RecordProperty("nanoseconds_a_heartbeat",
                 static_cast<int>(std::chrono::nanoseconds(took).count() / 20'000));
  EXPECT_EQ(shard.runner.log().size(), records);
  EXPECT_LT(took, seconds(20));
}

}  // namespace
}  // namespace barnabas::coordinator::testing
