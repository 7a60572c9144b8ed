#include "coordinator/consumer_protocol.h"

#include <algorithm>

#include "coordinator/consumer_regex.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;

std::string timer_name(std::string_view kind, std::string_view group, std::string_view member = {}) {
  std::string name;
  name.reserve(kind.size() + group.size() + member.size() + 2);
  // A group or member id may contain anything; the group's length keeps pairs apart.
  return name.append(kind).append(std::to_string(group.size())).append(" ").append(group).append(member);
}

constexpr std::string_view session_timer = "consumer session ";
constexpr std::string_view rebalance_timer = "consumer rebalance ";
constexpr std::string_view join_timer = "consumer join ";
constexpr std::string_view sync_timer = "consumer sync ";
constexpr std::string_view regex_timer = "consumer regex ";

}  // namespace

ConsumerProtocol::ConsumerProtocol(ShardEnvironment& environment, GroupTable& groups,
                                   ClassicProtocol& classic)
    : environment_(environment), groups_(groups), classic_(classic), settings_(environment) {
  newest_topics_version_ = environment_.image->position.offset.value();
}

void ConsumerProtocol::loaded(const Now& now) {
  for (const auto& [id, entry] : groups_) {
    const auto* group = dynamic_cast<const ConsumerGroup*>(entry.get());
    if (group == nullptr) continue;
    const auto timeout = settings_.of(id).session_timeout;
    for (const auto& [member_id, member] : group->members()) {
      set_session_timer(id, member_id, timeout, now);
      if (member.state == ConsumerMemberState::unrevoked_partitions) set_rebalance_timer(id, member, now);
    }
  }
}

void ConsumerProtocol::metadata_changed(const metadata::MetadataChanges& changes,
                                        const metadata::MetadataImage& before) {
  if (changes.all || metadata::concerns_broker(changes, environment_.node)) settings_.broker_changed();
  // Racks are in the hashes.
  if (changes.all || !changes.changed_brokers.empty()) hashes_.clear();
  bool new_topics = changes.all;
  for (const auto* topics : {&changes.changed_topics, &changes.deleted_topics}) {
    for (const auto& topic : *topics) {
      hashes_.forget(topic->name);
      new_topics = new_topics || (topics == &changes.changed_topics && before.topic(topic->id) == nullptr);
    }
  }
  if (new_topics) newest_topics_version_ = environment_.image->position.offset.value();

  for (const auto& [id, entry] : groups_) {
    auto* group = dynamic_cast<ConsumerGroup*>(entry.get());
    if (group == nullptr) continue;
    const auto concerned = [group](const auto& topics) {
      return std::ranges::any_of(topics,
                                 [&](const auto& topic) { return group->is_subscribed_to(topic->name); });
    };
    if (changes.all || concerned(changes.changed_topics) || concerned(changes.deleted_topics))
      group->request_metadata_check();
  }
}

std::string ConsumerProtocol::assignor_of(const ConsumerGroup& group, const ConsumerMember* old,
                                          const ConsumerMember* next) const {
  const auto& known = environment_.settings.consumer_assignors;
  auto preferred = group.preferred_assignor(old, next);
  return preferred && std::ranges::find(known, *preferred) != known.end() ? *preferred : known.front();
}

bool ConsumerProtocol::target_is_due(const ConsumerGroup& group, int32_t epoch, const Now& now) {
  if (group.assignment_epoch() >= epoch) return false;
  return group.assigned_at() == TimestampMs(0) ||
         has_passed(group.assigned_at(), settings_.of(group.id()).assignment_interval.count(), now.wall);
}

// --- leaving

Checked<Decision> ConsumerProtocol::leave(const HeartbeatRequest& request, const Now& now,
                                          Reply<HeartbeatResponse>& reply) {
  const std::string group_id = request.group_id.str();
  const Group* any = groups_.find(group_id);
  const auto* group = dynamic_cast<const ConsumerGroup*>(any);
  if (group == nullptr)
    return std::unexpected(Refusal{ErrorCode::group_id_not_found,
                                   any == nullptr ? "Group " + group_id + " not found."
                                                  : "Group " + group_id + " is not a consumer group."});
  const std::string member_id = request.member_id.str();
  const ConsumerMember* member = nullptr;
  if (!request.instance_id) {
    member = group->member(member_id);
    if (member == nullptr)
      return std::unexpected(Refusal{ErrorCode::unknown_member_id,
                                     "Member " + member_id + " is not a member of group " + group_id + "."});
  } else {
    const std::string instance_id = request.instance_id->str();
    member = group->static_member(instance_id);
    if (member == nullptr)
      return std::unexpected(
          Refusal{ErrorCode::unknown_member_id, "Instance id " + instance_id + " is unknown."});
    if (member->id != member_id)
      return std::unexpected(Refusal{ErrorCode::fenced_instance_id,
                                     "Static member " + member_id + " with instance id " + instance_id +
                                         " was fenced by member " + member->id + "."});
  }

  HeartbeatResponse response;
  response.member_id = member_id;
  response.member_epoch = request.member_epoch;
  Decision decision;
  if (request.member_epoch == leave_static_epoch) {
    ConsumerMember away = *member;
    away.epoch = leave_static_epoch;
    away.pending_revocation.clear();
    for (auto& [topic, partitions] : away.assigned)
      for (auto& [partition, epoch] : partitions) epoch = 0;
    decision.records.push_back(consumer_records::current_assignment(group_id, away));
  } else {
    decision = fence(*group, {member}, now);
  }
  decision.replies.push_back(reply.with(std::move(response)));
  return decision;
}

Decision ConsumerProtocol::fence(const ConsumerGroup& group,
                                 const std::vector<const ConsumerMember*>& members, const Now& now) {
  using namespace consumer_records;
  Decision decision;
  if (members.empty()) return decision;
  if (may_downgrade(group, members, nullptr)) {
    downgrade(group, members, nullptr, true, now, decision);
    return decision;
  }
  const std::string group_id = group.id();
  SubscriptionCounts subscriptions = group.subscriptions();
  std::map<std::string, int32_t> leaving;
  std::vector<std::string> member_ids;
  const auto drop = [&](const std::string& topic, int32_t by_name, int32_t by_regex) {
    auto& count = subscriptions[topic];
    count.by_name -= by_name;
    count.by_regex -= by_regex;
    if (count == SubscriptionCount{}) subscriptions.erase(topic);
  };
  for (const ConsumerMember* member : members) {
    decision.records.push_back(current_assignment_tombstone(group_id, member->id));
    decision.records.push_back(target_assignment_tombstone(group_id, member->id));
    decision.records.push_back(member_metadata_tombstone(group_id, member->id));
    member_ids.push_back(member->id);
    for (const auto& topic : member->topics) drop(topic, 1, 0);
    if (member->has_regex()) ++leaving[*member->regex];
  }
  for (const auto& [regex, count] : leaving) {
    if (group.regex_members().at(regex) != count) continue;
    decision.records.push_back(regular_expression_tombstone(group_id, regex));
    if (const auto known = group.resolved().find(regex); known != group.resolved().end())
      for (const auto& topic : known->second.topics) drop(topic, 0, 1);
  }
  std::vector<std::string> topics;
  for (const auto& [name, count] : subscriptions) topics.push_back(name);
  const int64_t hash = hashes_.of(topics, *environment_.image);
  const int32_t epoch = group.epoch() + 1;
  decision.records.push_back(group_metadata(group_id, epoch, hash));
  if (group.members().size() == members.size())
    decision.records.push_back(target_metadata(group_id, epoch, TimestampMs(0)));
  decision.appended = [this, group_id, member_ids = std::move(member_ids)] {
    for (const auto& member_id : member_ids) cancel_timers(group_id, member_id);
  };
  return decision;
}

Decision ConsumerProtocol::fence_if_there(const std::string& group_id, const std::string& member_id,
                                          const Now& now) {
  const auto* group = groups_.find_as<ConsumerGroup>(group_id);
  if (group == nullptr) return {};
  const ConsumerMember* member = group->member(member_id);
  if (member == nullptr) return {};
  return fence(*group, {member}, now);
}

ConsumerMember ConsumerProtocol::replace_member(const ConsumerGroup& group, const ConsumerMember& present,
                                                const std::string& id, std::vector<Record>& records) const {
  using namespace consumer_records;
  ConsumerMember next = present;
  next.id = id;
  next.epoch = 0;
  next.previous_epoch = 0;
  records.push_back(current_assignment_tombstone(group.id(), present.id));
  records.push_back(target_assignment_tombstone(group.id(), present.id));
  records.push_back(member_metadata_tombstone(group.id(), present.id));
  records.push_back(member_metadata(group.id(), next));
  records.push_back(target_assignment(group.id(), id, group.target(present.id)));
  records.push_back(current_assignment(group.id(), next));
  return next;
}

// --- regular expressions

// Looking at all topics is not part of the heartbeat that asks for it, so that the heartbeat's own records
// and answer do not depend on it; Kafka does it on another thread.
Decision ConsumerProtocol::resolve_regexes(const std::string& group_id, const TopicFilter& may_see,
                                           const Now& now) {
  auto* group = groups_.find_as<ConsumerGroup>(group_id);
  Decision decision;
  if (group == nullptr) return decision;
  std::set<std::string> regexes;
  for (const auto& [regex, members] : group->regex_members()) regexes.insert(regex);
  SubscriptionCounts subscriptions = group->subscriptions();
  const auto add = [&](const std::vector<std::string>& topics, int32_t by) {
    for (const auto& topic : topics) {
      auto& count = subscriptions[topic];
      count.by_regex += by;
      if (count == SubscriptionCount{}) subscriptions.erase(topic);
    }
  };
  bool bump = false;
  for (const auto& [regex, topics] : coordinator::resolve_regexes(regexes, *environment_.image, may_see)) {
    const auto known = group->resolved().find(regex);
    const std::vector<std::string> before =
        known == group->resolved().end() ? std::vector<std::string>() : known->second.topics;
    if (before != topics) {
      bump = true;
      add(before, -1);
      add(topics, 1);
    }
    decision.records.push_back(consumer_records::regular_expression(
        group_id, regex, topics, environment_.image->position.offset.value(), now.wall));
  }
  std::vector<std::string> topics;
  for (const auto& [name, count] : subscriptions) topics.push_back(name);
  const int64_t hash = hashes_.of(topics, *environment_.image);
  if (!bump && hash == group->metadata_hash()) return decision;
  decision.records.push_back(consumer_records::group_metadata(group_id, group->epoch() + 1, hash));
  group->note_metadata_checked(group->epoch() + 1);
  return decision;
}

// --- timers

void ConsumerProtocol::expect_heartbeat(const std::string& group_id, const std::string& member_id,
                                        Instant at) {
  if (auto* group = groups_.find_as<ConsumerGroup>(group_id)) group->expect_heartbeat(member_id, at);
}

void ConsumerProtocol::set_session_timer(const std::string& group_id, const std::string& member_id,
                                         std::chrono::milliseconds timeout, const Now& now) {
  const std::string name = timer_name(session_timer, group_id, member_id);
  if (environment_.timers.move(name, now.instant + timeout)) return;
  environment_.timers.set(name, now.instant + timeout, [this, group_id, member_id](const Now& later) {
    return fence_if_there(group_id, member_id, later);
  });
}

void ConsumerProtocol::set_rebalance_timer(const std::string& group_id, const ConsumerMember& member,
                                           const Now& now) {
  const auto at = now.instant + std::chrono::milliseconds(member.rebalance_timeout_ms);
  environment_.timers.set(timer_name(rebalance_timer, group_id, member.id), at,
                          [this, group_id, member_id = member.id, epoch = member.epoch](const Now& later) {
                            const auto* group = groups_.find_as<ConsumerGroup>(group_id);
                            const auto* present = group == nullptr ? nullptr : group->member(member_id);
                            if (present == nullptr || present->epoch != epoch) return Decision{};
                            return fence(*group, {present}, later);
                          });
}

void ConsumerProtocol::cancel_rebalance_timer(std::string_view group_id, std::string_view member_id) {
  environment_.timers.cancel(timer_name(rebalance_timer, group_id, member_id));
}

void ConsumerProtocol::cancel_timers(std::string_view group_id, std::string_view member_id) {
  environment_.timers.cancel(timer_name(session_timer, group_id, member_id));
  cancel_rebalance_timer(group_id, member_id);
  cancel_join_timer(group_id, member_id);
  cancel_sync_timer(group_id, member_id);
}

void ConsumerProtocol::set_join_timer(const std::string& group_id, const ConsumerMember& member,
                                      const Now& now) {
  const std::string name = timer_name(join_timer, group_id, member.id);
  if (environment_.timers.is_set(name)) return;
  environment_.timers.set(name, now.instant + std::chrono::milliseconds(member.rebalance_timeout_ms),
                          [this, group_id, member_id = member.id](const Now& later) {
                            return fence_if_there(group_id, member_id, later);
                          });
}

void ConsumerProtocol::cancel_join_timer(std::string_view group_id, std::string_view member_id) {
  environment_.timers.cancel(timer_name(join_timer, group_id, member_id));
}

void ConsumerProtocol::set_sync_timer(const std::string& group_id, const std::string& member_id,
                                      std::chrono::milliseconds timeout, const Now& now) {
  environment_.timers.set(
      timer_name(sync_timer, group_id, member_id), now.instant + timeout,
      [this, group_id, member_id](const Now& later) { return fence_if_there(group_id, member_id, later); });
}

void ConsumerProtocol::cancel_sync_timer(std::string_view group_id, std::string_view member_id) {
  environment_.timers.cancel(timer_name(sync_timer, group_id, member_id));
}

void ConsumerProtocol::set_regex_timer(const std::string& group_id, const TopicFilter& may_see,
                                       const Now& now) {
  environment_.timers.set(
      timer_name(regex_timer, group_id), now.instant,
      [this, group_id, may_see](const Now& later) { return resolve_regexes(group_id, may_see, later); });
}

bool ConsumerProtocol::is_resolving(std::string_view group_id) const {
  return environment_.timers.is_set(timer_name(regex_timer, group_id));
}

}  // namespace barnabas::coordinator
