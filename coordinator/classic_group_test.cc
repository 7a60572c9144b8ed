#include "coordinator/classic_group.h"

#include <gtest/gtest.h>

#include "protocol/coordinator_record.h"
#include "protocol/messages/consumer_protocol_subscription.h"
#include "protocol/messages/group_metadata_key.h"
#include "protocol/writer.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using std::chrono::milliseconds;

constexpr TimestampMs start{1'000'000};
constexpr milliseconds retention{1'000};

TimestampMs after(int64_t time) {
  return TimestampMs(start.value() + time);
}

protocol::Bytes subscription(std::vector<std::string> topics) {
  protocol::ConsumerProtocolSubscription said;
  for (const std::string& topic : topics) said.topics.emplace_back(topic);
  protocol::Writer writer;
  writer.int16(1);
  said.encode(writer, 1);
  return protocol::Bytes(writer.bytes());
}

ClassicMember member(std::string id, std::vector<std::string> protocols = {"range"},
                     std::vector<std::string> topics = {"orders"}) {
  ClassicMember made{.id = std::move(id), .client_id = "client", .client_host = "/10.0.0.1"};
  made.rebalance_timeout = milliseconds(60'000);
  made.session_timeout = milliseconds(10'000);
  for (std::string& name : protocols) made.protocols.push_back({std::move(name), subscription(topics)});
  return made;
}

/// Stable, generation 1, of these members.
void settle(ClassicGroup& group) {
  group.enter(ClassicState::preparing_rebalance, start);
  group.begin_generation(start);
  group.enter(ClassicState::stable, start);
}

protocol::GroupMetadataValue value_of(const Record& record) {
  auto value = protocol::decode_coordinator_value<protocol::GroupMetadataValue>(*record.value);
  EXPECT_TRUE(value.has_value());
  return std::move(*value);
}

TEST(ClassicGroup, most_votes_among_what_all_speak_select_the_protocol) {
  ClassicGroup group("g", start);
  group.add(member("a", {"mine", "range", "sticky"}), "consumer");
  group.add(member("b", {"sticky", "range"}), "consumer");
  EXPECT_EQ(group.select_protocol(), "range") << "a draw";
  group.add(member("c", {"sticky", "range", "mine"}), "consumer");
  EXPECT_EQ(group.select_protocol(), "sticky");
  group.set_protocols(*group.find_member("b"), {{"range", {}}});
  EXPECT_EQ(group.select_protocol(), "range");
}

TEST(ClassicGroup, a_joiner_must_share_type_and_a_protocol_of_all) {
  ClassicGroup group("g", start);
  EXPECT_FALSE(group.supports("", {{"range", {}}}));
  EXPECT_FALSE(group.supports("consumer", {}));
  EXPECT_TRUE(group.supports("connect", {{"any", {}}}));
  group.add(member("a", {"range", "sticky"}), "consumer");
  group.add(member("b", {"sticky"}), "consumer");
  group.enter(ClassicState::preparing_rebalance, start);
  EXPECT_TRUE(group.supports("consumer", {{"sticky", {}}, {"other", {}}}));
  EXPECT_FALSE(group.supports("consumer", {{"range", {}}})) << "b does not speak it";
  EXPECT_FALSE(group.supports("connect", {{"sticky", {}}}));
}

TEST(ClassicGroup, another_member_leads_when_the_leader_goes) {
  ClassicGroup group("g", start);
  group.add(member("b"), "consumer");
  group.add(member("a"), "consumer");
  EXPECT_TRUE(group.is_leader("b"));
  EXPECT_TRUE(group.remove("b").has_value());
  EXPECT_TRUE(group.is_leader("a"));
  group.remove("a");
  EXPECT_EQ(group.leader(), std::nullopt);
  EXPECT_FALSE(group.remove("a").has_value());
}

TEST(ClassicGroup, a_static_member_that_comes_back_fences_its_former_id) {
  ClassicGroup group("g", start);
  ClassicMember first = member("i-1");
  first.instance_id = "i";
  group.add(std::move(first), "consumer");
  group.rename("i-1", "i-2");
  EXPECT_EQ(*group.find_static("i"), "i-2");
  EXPECT_TRUE(group.is_leader("i-2"));
  EXPECT_EQ(group.validate_member("i-2", "i"), ErrorCode::none);
  EXPECT_EQ(group.validate_member("i-1", "i"), ErrorCode::fenced_instance_id);
  EXPECT_EQ(group.validate_member("i-1", std::nullopt), ErrorCode::unknown_member_id);
  EXPECT_EQ(group.validate_member("i-2", "other"), ErrorCode::unknown_member_id);
}

TEST(ClassicGroup, its_record_brings_it_back) {
  ClassicGroup group("g", start);
  ClassicMember fixed = member("a", {"range", "sticky"});
  fixed.instance_id = "i";
  fixed.assignment = protocol::Bytes::of_text("p0");
  group.add(std::move(fixed), "consumer");
  group.add(member("b"), "consumer");
  settle(group);

  const Record record = group.record();
  const auto key = protocol::decode_coordinator_key<protocol::GroupMetadataKey>(record.key);
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->group, "g");
  EXPECT_EQ((*record.value)[1], std::byte{3}) << "the version that Kafka writes";

  const auto again = ClassicGroup::from_record("g", value_of(record));
  EXPECT_EQ(again->state_name(), "Stable");
  EXPECT_EQ(again->generation(), 1);
  EXPECT_EQ(again->protocol_type(), "consumer");
  EXPECT_EQ(again->protocol_name(), "range");
  EXPECT_EQ(again->leader(), "a");
  EXPECT_EQ(again->state_since(), start);
  ASSERT_EQ(again->members().size(), 2u);
  const ClassicMember& kept = *again->find_member("a");
  EXPECT_EQ(kept.instance_id, "i");
  EXPECT_EQ(kept.client_id, "client");
  EXPECT_EQ(kept.client_host, "/10.0.0.1");
  EXPECT_EQ(kept.rebalance_timeout, milliseconds(60'000));
  EXPECT_EQ(kept.session_timeout, milliseconds(10'000));
  EXPECT_EQ(kept.assignment, protocol::Bytes::of_text("p0"));
  EXPECT_TRUE(again->is_subscribed_to("orders"));
  EXPECT_FALSE(again->is_subscribed_to("bills"));
}

TEST(ClassicGroup, an_odd_record_still_makes_a_sound_group) {
  protocol::GroupMetadataValue value;
  value.protocol_type = "consumer";
  value.protocol = std::nullopt;
  value.leader = "nobody";
  value.members.resize(3);
  value.members[0].member_id = "a";
  value.members[0].session_timeout = -5;
  value.members[1].member_id = "a";
  value.members[2].member_id = "b";
  const auto group = ClassicGroup::from_record("g", value);
  EXPECT_EQ(group->members().size(), 2u);
  EXPECT_TRUE(group->is_leader("a"));
  EXPECT_EQ(group->find_member("a")->session_timeout, milliseconds(1));
  EXPECT_EQ(group->state_since(), std::nullopt);
  EXPECT_TRUE(group->is_subscribed_to("anything")) << "unknown: better too much than too little";
}

TEST(ClassicGroup, members_commit_in_their_generation_and_strangers_while_it_is_empty) {
  ClassicGroup group("g", start);
  EXPECT_EQ(group.validate_offset_commit("", {}, -1, false, 8), ErrorCode::none);
  EXPECT_EQ(group.validate_offset_commit("a", {}, 1, false, 8), ErrorCode::unknown_member_id);
  ClassicMember fixed = member("a");
  fixed.instance_id = "i";
  group.add(std::move(fixed), "consumer");
  settle(group);
  EXPECT_EQ(group.validate_offset_commit("a", "i", 1, false, 8), ErrorCode::none);
  EXPECT_EQ(group.validate_offset_commit("a", {}, 1, false, 8), ErrorCode::none);
  EXPECT_EQ(group.validate_offset_commit("a", {}, 0, false, 8), ErrorCode::illegal_generation);
  EXPECT_EQ(group.validate_offset_commit("a", {}, -1, false, 8), ErrorCode::illegal_generation);
  EXPECT_EQ(group.validate_offset_commit("b", {}, 1, false, 8), ErrorCode::unknown_member_id);
  EXPECT_EQ(group.validate_offset_commit("b", "i", 1, false, 8), ErrorCode::fenced_instance_id);
  EXPECT_EQ(group.validate_offset_commit("a", "j", 1, false, 8), ErrorCode::unknown_member_id);
  EXPECT_EQ(group.validate_offset_commit("", {}, -1, false, 8), ErrorCode::unknown_member_id);
  EXPECT_EQ(group.validate_offset_commit("", {}, -1, true, 3), ErrorCode::none) << "in a transaction";
  group.enter(ClassicState::preparing_rebalance, start);
  EXPECT_EQ(group.validate_offset_commit("a", {}, 1, false, 8), ErrorCode::none);
  group.begin_generation(start);
  EXPECT_EQ(group.validate_offset_commit("a", {}, 2, false, 8), ErrorCode::rebalance_in_progress);
  EXPECT_EQ(group.validate_offset_commit("a", {}, 2, true, 3), ErrorCode::none);
  group.enter(ClassicState::dead, start);
  EXPECT_EQ(group.validate_offset_commit("a", {}, 2, false, 8), ErrorCode::coordinator_not_available);
  EXPECT_EQ(group.validate_offset_fetch({}, -1), ErrorCode::group_id_not_found);
}

TEST(ClassicGroup, only_an_empty_group_is_deleted_and_offsets_where_subscriptions_are_known) {
  ClassicGroup group("g", start);
  EXPECT_EQ(group.validate_delete(), ErrorCode::none);
  EXPECT_TRUE(group.may_be_removed(start));
  group.add_pending("soon");
  EXPECT_FALSE(group.may_be_removed(start));
  group.add(member("a"), "consumer");
  settle(group);
  EXPECT_EQ(group.validate_delete(), ErrorCode::non_empty_group);
  EXPECT_EQ(group.validate_offset_delete(), ErrorCode::none);

  ClassicGroup other("h", start);
  other.add(member("a"), "connect");
  settle(other);
  EXPECT_EQ(other.validate_offset_delete(), ErrorCode::non_empty_group);
}

TEST(ClassicGroup, offsets_without_a_protocol_age_from_their_commit) {
  const ClassicGroup group("g", start);
  EXPECT_FALSE(group.offset_is_expired({"t", after(0), {}}, after(999), retention));
  EXPECT_TRUE(group.offset_is_expired({"t", after(0), {}}, after(1'000), retention));
  EXPECT_FALSE(group.offset_is_expired({"t", after(0), after(1'500)}, after(1'400), retention));
  EXPECT_TRUE(group.offset_is_expired({"t", after(0), after(500)}, after(600), retention));
}

TEST(ClassicGroup, offsets_of_a_group_age_from_when_the_last_member_left) {
  ClassicGroup group("g", start);
  group.add(member("a"), "consumer");
  settle(group);
  EXPECT_FALSE(group.offset_is_expired({"orders", after(0), {}}, after(9'000), retention)) << "subscribed";
  EXPECT_TRUE(group.offset_is_expired({"bills", after(0), {}}, after(9'000), retention));
  group.enter(ClassicState::preparing_rebalance, after(0));
  EXPECT_FALSE(group.offset_is_expired({"bills", after(0), {}}, after(9'000), retention)) << "unsettled";
  group.remove("a");
  group.begin_generation(after(5'000));
  EXPECT_TRUE(group.is_empty());
  EXPECT_FALSE(group.offset_is_expired({"orders", after(0), {}}, after(5'999), retention));
  EXPECT_TRUE(group.offset_is_expired({"orders", after(0), {}}, after(6'000), retention));
}

TEST(ClassicGroup, offsets_of_members_with_subscriptions_that_nobody_can_read_stay) {
  ClassicGroup group("g", start);
  ClassicMember strange = member("a");
  strange.protocols = {{"range", protocol::Bytes::of_text("?")}};
  group.add(std::move(strange), "consumer");
  settle(group);
  EXPECT_FALSE(group.offset_is_expired({"t", after(0), {}}, after(9'000), retention));

  ClassicGroup other("h", start);
  other.add(member("a"), "connect");
  settle(other);
  EXPECT_FALSE(other.offset_is_expired({"t", after(0), {}}, after(9'000), retention));
}

}  // namespace
}  // namespace barnabas::coordinator
