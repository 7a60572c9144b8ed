#include <algorithm>
#include <map>
#include <set>

#include "coordinator/classic_protocol.h"
#include "coordinator/consumer_embedded.h"
#include "coordinator/consumer_protocol.h"

// A group changes its protocol while it is used (KIP-848): to the consumer protocol when its first member of
// that comes, and back when the last one leaves.
namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;

ConsumerMember consumer_member(const ClassicMember& member, int32_t epoch,
                               const EmbeddedSubscription& subscription, const TopicPartitions& assigned) {
  ConsumerMember next{.id = member.id, .epoch = epoch, .previous_epoch = epoch};
  next.instance_id = member.instance_id;
  next.rack_id = subscription.rack_id;
  next.rebalance_timeout_ms = static_cast<int32_t>(member.rebalance_timeout.count());
  next.client_id = member.client_id;
  next.client_host = member.client_host;
  next.topics = subscription.topics;
  sort_unique(next.topics);
  next.assigned = owned_at(assigned, epoch);
  auto& classic = next.classic.emplace();
  classic.session_timeout_ms = static_cast<int32_t>(member.session_timeout.count());
  for (const auto& protocol : member.protocols) {
    const ByteView metadata = protocol.metadata;
    classic.protocols.push_back({protocol.name, {metadata.begin(), metadata.end()}});
  }
  return next;
}

ClassicMember classic_member(const ConsumerMember& member) {
  ClassicMember next{.id = member.id};
  next.instance_id = member.instance_id;
  next.client_id = member.client_id;
  next.client_host = member.client_host;
  next.rebalance_timeout = std::chrono::milliseconds(std::max(member.rebalance_timeout_ms, 0));
  next.session_timeout = std::chrono::milliseconds(member.classic->session_timeout_ms);
  for (const auto& protocol : member.classic->protocols)
    next.protocols.push_back({protocol.name, protocol::Bytes(protocol.metadata)});
  return next;
}

/// What all of them support; a log that somebody else wrote may hold members that have nothing in common.
bool share_a_protocol(const std::vector<const ConsumerMember*>& members) {
  return std::ranges::any_of(members.front()->classic->protocols, [&](const auto& candidate) {
    return std::ranges::all_of(members, [&](const ConsumerMember* member) {
      const auto& protocols = member->classic->protocols;
      return std::ranges::find(protocols, candidate.name, &ClassicMemberData::Protocol::name) !=
             protocols.end();
    });
  });
}

// Who joins a cooperative rebalance goes on with what it had until it has got its share, which may be without
// some of it. What it says to have and nobody is given has to be given up first. (Kafka goes by the shares
// alone, and gives it to somebody else at once.)
void keep_what_is_claimed(const TopicPartitions& claimed, std::set<std::pair<Uuid, int32_t>>& taken,
                          ConsumerMember& member) {
  for (const auto& [topic, partitions] : claimed)
    for (const int32_t partition : partitions)
      if (taken.emplace(topic, partition).second) member.pending_revocation[topic][partition] = member.epoch;
  if (!member.pending_revocation.empty()) member.state = ConsumerMemberState::unrevoked_partitions;
}

void add_records_of(const ConsumerGroup& group, std::vector<Record>& records) {
  using namespace consumer_records;
  const auto& id = group.id();
  for (const auto& [member_id, member] : group.members()) records.push_back(member_metadata(id, member));
  records.push_back(group_metadata(id, group.epoch(), group.metadata_hash()));
  for (const auto& [member_id, member] : group.members())
    records.push_back(target_assignment(id, member_id, group.target(member_id)));
  records.push_back(target_metadata(id, group.assignment_epoch(), group.assigned_at()));
  for (const auto& [member_id, member] : group.members()) records.push_back(current_assignment(id, member));
}

}  // namespace

Checked<std::unique_ptr<ConsumerGroup>> ConsumerProtocol::converted(const ClassicGroup& classic,
                                                                    std::vector<Record>& records) {
  const auto refused = [&](std::string_view why) {
    return std::unexpected(
        Refusal{ErrorCode::group_id_not_found, "Cannot upgrade classic group " + classic.id() +
                                                   " to consumer group because " + std::string(why) + "."});
  };
  const auto& settings = environment_.settings;
  if (!settings.upgrade) return refused("online upgrade is disabled");
  if (!classic.uses_consumer_protocol())
    return refused("the group does not use the consumer embedded protocol");
  if (classic.members().size() > settings.consumer_size_max)
    return refused("the group size exceeds the consumer group maximum size");

  classic.tombstones(records);
  std::string protocol;
  // All may have gone while the group waits for members to join.
  if (!classic.members().empty())
    protocol = classic.protocol_name() ? *classic.protocol_name() : classic.select_protocol();
  auto group = std::make_unique<ConsumerGroup>(classic.id());
  std::vector<std::pair<ConsumerMember, TopicPartitions>> claims;
  std::set<std::pair<Uuid, int32_t>> taken;
  for (const auto& [id, member] : classic.members()) {
    TopicPartitions assigned;
    if (!member.assignment.empty()) {
      const auto assignment = read_assignment(member.assignment);
      if (!assignment) return refused("the embedded consumer protocol is malformed");
      if (assignment->has_user_data)
        return refused(
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a "
            "default "
            "assignor before re-attempting the upgrade");
      assigned = by_id(assignment->partitions, *environment_.image);
    }
    const auto subscription = read_subscription(member.metadata(protocol));
    if (!subscription) return refused("the embedded consumer protocol is malformed");
    for (const auto& [topic, partitions] : assigned)
      for (const int32_t partition : partitions) taken.emplace(topic, partition);
    claims.emplace_back(consumer_member(member, classic.generation(), *subscription, assigned),
                        by_id(subscription->owned, *environment_.image));
    group->take_target(id, std::move(assigned));
  }
  for (auto& [member, claimed] : claims) {
    keep_what_is_claimed(claimed, taken, member);
    group->take_member(std::move(member));
  }
  std::vector<std::string> topics;
  for (const auto& [name, count] : group->subscriptions()) topics.push_back(name);
  group->take_epoch(classic.generation(), hashes_.of(topics, *environment_.image));
  group->take_assignment(classic.generation(), TimestampMs(0));
  add_records_of(*group, records);
  return group;
}

bool ConsumerProtocol::may_downgrade(const ConsumerGroup& group,
                                     const std::vector<const ConsumerMember*>& leaving,
                                     const ConsumerMember* joining) const {
  std::vector<const ConsumerMember*> staying;
  for (const auto& [id, member] : group.members()) {
    if (std::ranges::find(leaving, &member) != leaving.end()) continue;
    if (!member.classic) return false;
    staying.push_back(&member);
  }
  if (joining != nullptr) staying.push_back(joining);
  return !staying.empty() && environment_.settings.downgrade &&
         staying.size() <= environment_.settings.size_max && share_a_protocol(staying);
}

void ConsumerProtocol::downgrade(const ConsumerGroup& group,
                                 const std::vector<const ConsumerMember*>& leaving,
                                 const ConsumerMember* joining, bool rebalance, const Now& now,
                                 Decision& decision) {
  ClassicGroup classic(group.id(), now.wall);
  if (joining != nullptr) {
    group.tombstones_replacing(leaving.front()->id, joining->id, decision.records);
  } else {
    group.tombstones(decision.records);
  }
  // A log that somebody else wrote may hold several members of one instance; one of them stays.
  const auto add = [&classic](const ConsumerMember& member) {
    if (member.instance_id && classic.find_static(*member.instance_id) != nullptr) return;
    classic.add(classic_member(member), consumer_protocol_type);
  };
  std::vector<std::string> ids;
  for (const auto& [id, member] : group.members()) {
    ids.push_back(id);
    if (std::ranges::find(leaving, &member) == leaving.end()) add(member);
  }
  if (joining != nullptr) {
    ids.push_back(joining->id);
    add(*joining);
  }
  const std::string protocol = classic.select_protocol();
  protocol::GroupMetadataValue value;
  value.protocol_type = consumer_protocol_type;
  value.generation = group.epoch();
  value.protocol = protocol;
  value.leader = *classic.leader();
  value.current_state_timestamp = now.wall.value();
  for (const auto& [id, member] : classic.members()) {
    auto& kept = value.members.emplace_back();
    kept.member_id = id;
    if (member.instance_id) kept.group_instance_id = *member.instance_id;
    kept.client_id = member.client_id;
    kept.client_host = member.client_host;
    kept.rebalance_timeout = static_cast<int32_t>(member.rebalance_timeout.count());
    kept.session_timeout = static_cast<int32_t>(member.session_timeout.count());
    kept.subscription = member.metadata(protocol);
    const bool is_joining = joining != nullptr && id == joining->id;
    const auto subscription = read_subscription(kept.subscription);
    kept.assignment = protocol::Bytes(write_assignment(group.target(is_joining ? leaving.front()->id : id),
                                                       *environment_.image,
                                                       subscription ? subscription->version : int16_t{0}));
  }
  decision.records.push_back(ClassicGroup::from_record(group.id(), value)->record());
  // The record has room for the chosen protocol only, but the members speak others, too.
  std::map<std::string, std::vector<ClassicMemberProtocol>> spoken;
  for (const auto& [id, member] : classic.members()) spoken.emplace(id, member.protocols);
  decision.appended = [this, group_id = group.id(), ids = std::move(ids), spoken = std::move(spoken),
                       rebalance, now] {
    for (const auto& id : ids) cancel_timers(group_id, id);
    auto* const there = groups_.find_as<ClassicGroup>(group_id);
    if (there == nullptr) return;
    for (const auto& [id, protocols] : spoken)
      if (ClassicMember* member = there->find_member(id)) there->set_protocols(*member, protocols);
    classic_.take_over(*there, now);
    Decision nothing;
    if (rebalance) classic_.begin_rebalance(*there, now, nothing);
    // Nobody can wait in a group that has just come to be.
    BARNABAS_ASSERT(nothing.records.empty() && nothing.replies.empty());
  };
}

}  // namespace barnabas::coordinator
