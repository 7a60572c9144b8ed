#include "coordinator/classic_protocol.h"

#include "base/assert.h"
#include "coordinator/classic_answers.h"

namespace barnabas::coordinator {

using protocol::ErrorCode;
using std::chrono::milliseconds;

ClassicProtocol::ClassicProtocol(ShardEnvironment& environment, GroupTable& groups)
    : environment_(environment), groups_(groups) {}

void ClassicProtocol::replay(const protocol::GroupMetadataKey& key,
                             const std::optional<protocol::GroupMetadataValue>& value) {
  if (value) {
    groups_.put(ClassicGroup::from_record(key.group.str(), *value));
  } else if (groups_.find_as<ClassicGroup>(key.group) != nullptr) {
    groups_.remove(key.group);
  }
}

void ClassicProtocol::loaded(const Now& now) {
  for (const auto& [id, one] : groups_) {
    auto* const group = dynamic_cast<ClassicGroup*>(one.get());
    if (group == nullptr) continue;
    take_over(*group, now);
    // The limit may have become smaller: whoever joins again last goes.
    if (group->members().size() > environment_.settings.size_max) {
      Decision nothing;
      begin_rebalance(*group, now, nothing);
      BARNABAS_ASSERT(nothing.records.empty() && nothing.replies.empty());
    }
  }
}

Decision ClassicProtocol::unload() {
  Decision decision;
  for (const auto& [id, one] : groups_) {
    auto* const group = dynamic_cast<ClassicGroup*>(one.get());
    if (group == nullptr) continue;
    end(*group, ErrorCode::not_coordinator, decision);
    group->enter(ClassicState::dead, no_timestamp);
  }
  return decision;
}

void ClassicProtocol::give_up(ClassicGroup& group, Decision& decision) {
  end(group, ErrorCode::rebalance_in_progress, decision);
}

void ClassicProtocol::take_over(ClassicGroup& group, const Now& now) {
  Decision nothing;
  for (const auto& [id, listed] : group.members()) {
    ClassicMember& member = *group.find_member(id);
    expect_heartbeat({group, now, nothing}, member, member.session_timeout);
  }
}

void ClassicProtocol::end(ClassicGroup& group, ErrorCode error, Decision& decision) {
  environment_.timers.cancel(join_timer(group));
  environment_.timers.cancel(sync_timer(group));
  for (const std::string& id : group.pending()) cancel_member_timer(group, id);
  for (const auto& [id, listed] : group.members()) {
    ClassicMember& member = *group.find_member(id);
    cancel_member_timer(group, id);
    member.timer_at.reset();
    if (member.is_joining())
      decision.replies.push_back(group.take_join(member).with(join_refused(error, id)));
    if (member.is_syncing())
      decision.replies.push_back(std::exchange(member.sync, {}).with(sync_refused(error)));
  }
}

Decision ClassicProtocol::describe_group(const RequestContext& context, std::string_view id,
                                         Reply<DescribedGroup> reply) const {
  return Decision::answer(reply.with(describe(context, id)));
}

ClassicProtocol::DescribedGroup ClassicProtocol::describe(const RequestContext& context,
                                                          std::string_view id) const {
  const Group* const found = groups_.find(id);
  const auto* const group = dynamic_cast<const ClassicGroup*>(found);
  if (group == nullptr) return no_such_group(context.version, id, found != nullptr);
  DescribedGroup described;
  described.group_id = id;
  described.group_state = group->state_name();
  described.protocol_type = group->protocol_type();
  const bool is_stable = group->is_in(ClassicState::stable);
  if (is_stable) described.protocol_data = *group->protocol_name();
  described.members.reserve(group->members().size());
  for (const auto& [member_id, member] : group->members()) {
    auto& listed = described.members.emplace_back();
    listed.member_id = member_id;
    if (member.instance_id) listed.group_instance_id = *member.instance_id;
    listed.client_id = member.client_id;
    listed.client_host = member.client_host;
    if (is_stable) listed.member_metadata = member.metadata(*group->protocol_name()).owned();
    listed.member_assignment = member.assignment.owned();
  }
  return described;
}

// --- timers

std::string ClassicProtocol::join_timer(const ClassicGroup& group) {
  return "classic-join:" + group.id();
}

std::string ClassicProtocol::sync_timer(const ClassicGroup& group) {
  return "classic-sync:" + group.id();
}

std::string ClassicProtocol::member_timer(const std::string& group_id, std::string_view member_id) {
  return "classic-member:" + std::to_string(group_id.size()) + ":" + group_id + std::string(member_id);
}

void ClassicProtocol::set_timer(std::string name, Instant at, const std::string& group_id,
                                std::function<void(const Turn&)> due) {
  environment_.timers.set(name, at, [this, group_id, due = std::move(due)](const Now& now) {
    Decision decision;
    decision.replay = false;
    if (auto* const group = groups_.find_as<ClassicGroup>(group_id)) due({*group, now, decision});
    return decision;
  });
}

void ClassicProtocol::set_member_timer(const ClassicGroup& group, const std::string& member_id, Instant at) {
  set_timer(member_timer(group.id(), member_id), at, group.id(),
            [this, member_id](const Turn& due) { member_due(due, member_id); });
}

void ClassicProtocol::cancel_member_timer(const ClassicGroup& group, std::string_view member_id) {
  environment_.timers.cancel(member_timer(group.id(), member_id));
}

// A heartbeat costs no look-up: the timer stays where it is, and looks at the member when it is due.
void ClassicProtocol::expect_heartbeat(const Turn& turn, ClassicMember& member, milliseconds timeout) {
  member.alive_until = turn.now.instant + timeout;
  if (member.timer_at && *member.timer_at <= member.alive_until) return;
  member.timer_at = member.alive_until;
  set_member_timer(turn.group, member.id, member.alive_until);
}

// Whoever waits for an answer is alive, but for a newcomer: it may have gone and come again under another id.
void ClassicProtocol::member_due(const Turn& turn, const std::string& member_id) {
  ClassicGroup& group = turn.group;
  ClassicMember* const member = group.find_member(member_id);
  const bool is_member = member != nullptr;
  if (is_member) {
    member->timer_at.reset();
    const bool waits = !member->is_new && (member->is_joining() || member->is_syncing());
    if (waits) member->alive_until = turn.now.instant + member->session_timeout;
    if (member->alive_until > turn.now.instant) {
      member->timer_at = member->alive_until;
      set_member_timer(group, member_id, member->alive_until);
      return;
    }
  } else if (!group.is_pending(member_id)) {
    return;
  }
  drop_member(turn, member_id);
  if (group.is_in(ClassicState::preparing_rebalance)) {
    if (group.all_joined()) complete_join(turn);
  } else if (is_member) {
    prepare_rebalance(turn);
  }
}

}  // namespace barnabas::coordinator
