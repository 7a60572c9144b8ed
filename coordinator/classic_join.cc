#include <algorithm>
#include <set>

#include "coordinator/classic_answers.h"
#include "coordinator/classic_protocol.h"

namespace barnabas::coordinator {

using protocol::ErrorCode;
using std::chrono::milliseconds;

namespace {

/// KIP-394: from this version on a newcomer first gets its id, and then joins with it.
constexpr int16_t member_id_required_since = 4;
/// KIP-814: from this version on a leader that comes back learns that it need not share out again.
constexpr int16_t skip_assignment_since = 9;
/// A newcomer waits without heartbeats, for it does not know its id; so long at most.
constexpr milliseconds newcomer_waits_max = std::chrono::minutes(5);

/// Of several of one name the first counts.
std::vector<ClassicMemberProtocol> protocols_of(const protocol::JoinGroupRequest& request) {
  std::vector<ClassicMemberProtocol> protocols;
  std::set<std::string_view> names;
  for (const auto& said : request.protocols)
    if (names.insert(said.name).second) protocols.push_back({said.name.str(), said.metadata.owned()});
  return protocols;
}

// As Java prints it, which is what members of Kafka's groups look like.
std::string text_of(const Uuid& id) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned>(id.bytes[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace

struct ClassicProtocol::Joiner {
  const RequestContext& context;
  const protocol::JoinGroupRequest& request;
  std::vector<ClassicMemberProtocol> protocols;
  milliseconds rebalance_timeout;
  milliseconds session_timeout;
  JoinReply reply;

  Joiner(const RequestContext& from, const protocol::JoinGroupRequest& what, JoinReply to)
      : context(from),
        request(what),
        protocols(protocols_of(what)),
        rebalance_timeout(what.rebalance_timeout_ms),
        session_timeout(what.session_timeout_ms),
        reply(std::move(to)) {
    // Version 0 has no time for a rebalance.
    if (context.version == 0 || rebalance_timeout < milliseconds(0)) rebalance_timeout = session_timeout;
  }

  std::optional<std::string_view> instance_id() const {
    if (!request.group_instance_id) return std::nullopt;
    return request.group_instance_id->view();
  }
  void answer(Decision& decision, protocol::JoinGroupResponse response) {
    decision.replies.push_back(reply.with(std::move(response)));
  }
  void refuse(Decision& decision, ErrorCode error, std::string_view member_id) {
    answer(decision, join_refused(error, member_id));
  }
};

Decision ClassicProtocol::join_group(const RequestContext& context, const protocol::JoinGroupRequest& request,
                                     JoinReply reply) {
  Decision decision;
  decision.replay = false;
  Joiner joiner(context, request, std::move(reply));
  const auto refuse = [&](ErrorCode error) { joiner.refuse(decision, error, request.member_id); };
  Group* const found = groups_.find(request.group_id);
  auto* const group = dynamic_cast<ClassicGroup*>(found);
  if (joiner.session_timeout < environment_.settings.session_timeout_min ||
      joiner.session_timeout > environment_.settings.session_timeout_max) {
    refuse(ErrorCode::invalid_session_timeout);
  } else if (group != nullptr) {
    join({*group, context.now, decision}, std::move(joiner));
  } else if (found != nullptr && !found->is_empty()) {
    joiner.refuse(decision, ErrorCode::inconsistent_group_protocol, "");
  } else if (!request.member_id.empty()) {
    refuse(ErrorCode::unknown_member_id);
  } else {
    join({create_group(request.group_id, context.now, decision), context.now, decision}, std::move(joiner));
  }
  return decision;
}

// An empty group of another protocol gives way. The record says that there is a group with this id, for those
// that commit and list before its first generation.
ClassicGroup& ClassicProtocol::create_group(std::string_view id, const Now& now, Decision& decision) {
  std::unique_ptr<Group> former = groups_.take(id);
  if (former) former->tombstones(decision.records);
  auto created = std::make_unique<ClassicGroup>(std::string(id), now.wall);
  ClassicGroup& group = *created;
  decision.records.push_back(group.record());
  groups_.put(std::move(created));
  decision.refused = [this, &group, former = std::move(former)](ErrorCode error) mutable {
    Decision ended;
    end(group, error, ended);
    for (ReadyReply& reply : ended.replies) reply(ErrorCode::none);
    if (former) {
      groups_.put(std::move(former));
    } else {
      groups_.remove(std::string(group.id()));
    }
  };
  return group;
}

void ClassicProtocol::join(const Turn& turn, Joiner joiner) {
  ClassicGroup& group = turn.group;
  const std::string_view member_id = joiner.request.member_id;
  const bool is_new = member_id.empty();
  if (!accepts(group, member_id)) {
    joiner.refuse(turn.decision, ErrorCode::group_max_size_reached, "");
    drop_member(turn, member_id);
    complete_join_if_all_there(turn);
  } else if (group.is_in(ClassicState::dead)) {
    joiner.refuse(turn.decision, ErrorCode::coordinator_not_available, member_id);
  } else if (!group.supports(joiner.request.protocol_type, joiner.protocols)) {
    joiner.refuse(turn.decision, ErrorCode::inconsistent_group_protocol, member_id);
  } else if (is_new) {
    join_new(turn, std::move(joiner));
  } else {
    join_existing(turn, std::move(joiner));
  }
}

// While members join again, those that have done so count and not those that are there: a group that has
// become too large sends away whoever comes last.
bool ClassicProtocol::accepts(const ClassicGroup& group, std::string_view member_id) const {
  const std::size_t max = environment_.settings.size_max;
  const ClassicMember* member = group.find_member(member_id);
  switch (group.state()) {
    case ClassicState::preparing_rebalance:
      return (member != nullptr && member->is_joining()) || group.joining() < max;
    case ClassicState::completing_rebalance:
    case ClassicState::stable:
      return member != nullptr || group.members().size() < max;
    case ClassicState::empty:
    case ClassicState::dead:
      break;
  }
  return true;
}

void ClassicProtocol::join_new(const Turn& turn, Joiner joiner) {
  std::string id = new_member_id(joiner);
  if (const auto instance_id = joiner.instance_id()) {
    if (const std::string* old_id = turn.group.find_static(*instance_id)) {
      join_static_again(turn, std::move(joiner), std::string(*old_id), std::move(id));
    } else {
      add_member(turn, std::move(joiner), std::move(id));
    }
  } else if (joiner.context.version >= member_id_required_since) {
    joiner.refuse(turn.decision, ErrorCode::member_id_required, id);
    set_member_timer(turn.group, id, turn.now.instant + joiner.session_timeout);
    turn.group.add_pending(std::move(id));
  } else {
    add_member(turn, std::move(joiner), std::move(id));
  }
}

// What is too long for an id is cut, so that it fits into answers and records.
std::string ClassicProtocol::new_member_id(const Joiner& joiner) const {
  const std::string unique = "-" + text_of(environment_.random_uuid());
  const std::string_view origin = joiner.instance_id().value_or(joiner.context.client_id);
  return std::string(origin.substr(0, protocol::string_bytes_max - unique.size())) + unique;
}

void ClassicProtocol::join_existing(const Turn& turn, Joiner joiner) {
  ClassicGroup& group = turn.group;
  const std::string_view id = joiner.request.member_id;
  if (group.is_pending(id) && !joiner.instance_id()) {
    add_member(turn, std::move(joiner), std::string(id));
    return;
  }
  if (const ErrorCode error = group.validate_member(id, joiner.instance_id()); error != ErrorCode::none) {
    joiner.refuse(turn.decision, error, id);
    return;
  }
  ClassicMember& member = *group.find_member(id);
  const bool is_changed = member.protocols != joiner.protocols;
  const bool leads = group.is_leader(id);
  // A member that says nothing new in a generation that goes on may not have heard of it; a leader that comes
  // again asks for a new one, for instance because a topic has changed.
  if (group.is_in(ClassicState::completing_rebalance) && !is_changed) {
    joiner.answer(turn.decision, joined(group, member, leads));
  } else if (group.is_in(ClassicState::stable) && !is_changed && !leads) {
    joiner.answer(turn.decision, joined(group, member, false));
  } else {
    update_member(turn, std::move(joiner), member);
    rebalance_or_complete(turn);
  }
}

void ClassicProtocol::add_member(const Turn& turn, Joiner joiner, std::string id) {
  ClassicGroup& group = turn.group;
  if (group.is_in(ClassicState::preparing_rebalance) && group.previous_state() == ClassicState::empty)
    group.last_newcomer_at = turn.now.instant;
  ClassicMember member{.id = std::move(id)};
  if (const auto instance_id = joiner.instance_id()) member.instance_id = *instance_id;
  member.client_id = joiner.context.client_id;
  member.client_host = joiner.context.client_host;
  member.rebalance_timeout = joiner.rebalance_timeout;
  member.session_timeout = joiner.session_timeout;
  member.protocols = std::move(joiner.protocols);
  member.is_new = true;
  member.join = std::move(joiner.reply);
  expect_heartbeat(turn, group.add(std::move(member), joiner.request.protocol_type), newcomer_waits_max);
  rebalance_or_complete(turn);
}

void ClassicProtocol::update_member(const Turn& turn, Joiner joiner, ClassicMember& member) {
  ClassicGroup& group = turn.group;
  group.set_protocols(member, std::move(joiner.protocols));
  member.rebalance_timeout = joiner.rebalance_timeout;
  member.session_timeout = joiner.session_timeout;
  // It asks again, surely over another connection.
  if (JoinReply superseded = group.take_join(member))
    turn.decision.replies.push_back(
        superseded.with(join_refused(ErrorCode::rebalance_in_progress, member.id)));
  group.wait_for_join(member, std::move(joiner.reply));
}

// Whoever used the instance id before is fenced: what it waits for it does not get.
void ClassicProtocol::join_static_again(const Turn& turn, Joiner joiner, const std::string& old_id,
                                        std::string new_id) {
  ClassicGroup& group = turn.group;
  const std::string former_leader = group.leader().value_or("");
  ClassicMember& old = *group.find_member(old_id);
  if (JoinReply fenced = group.take_join(old))
    turn.decision.replies.push_back(fenced.with(join_refused(ErrorCode::fenced_instance_id, old_id)));
  if (auto fenced = std::exchange(old.sync, {}))
    turn.decision.replies.push_back(fenced.with(sync_refused(ErrorCode::fenced_instance_id)));
  cancel_member_timer(group, old_id);

  ClassicMember& member = group.rename(old_id, std::move(new_id));
  member.is_new = false;
  member.timer_at.reset();
  expect_heartbeat(turn, member, joiner.session_timeout);
  ClassicMember before{.id = old_id, .client_id = member.client_id, .client_host = member.client_host};
  before.rebalance_timeout = member.rebalance_timeout;
  before.session_timeout = member.session_timeout;
  before.protocols = member.protocols;
  member.client_id = joiner.context.client_id;
  member.client_host = joiner.context.client_host;

  const bool is_stable = group.is_in(ClassicState::stable);
  const int16_t version = joiner.context.version;
  update_member(turn, std::move(joiner), member);
  if (is_stable && group.select_protocol() == group.protocol_name()) {
    keep_static_member(turn, member, std::move(before), former_leader, version);
  } else if (group.is_in(ClassicState::completing_rebalance)) {
    // The leader may know the old id already, and would share out to it.
    prepare_rebalance(turn);
  } else {
    rebalance_or_complete(turn);
  }
}

// It goes on with the share that it had, under an id that only has to be kept. A leader of an old version is
// not told that it is the leader: it would share out again what the others have.
void ClassicProtocol::keep_static_member(const Turn& turn, ClassicMember& member, ClassicMember before,
                                         const std::string& former_leader, int16_t version) {
  ClassicGroup& group = turn.group;
  const bool leads = version >= skip_assignment_since && group.is_leader(member.id);
  protocol::JoinGroupResponse response = joined(group, member, leads);
  response.skip_assignment = leads;
  if (version < skip_assignment_since) response.leader = former_leader;
  turn.decision.replies.push_back(group.take_join(member).with(std::move(response)));
  turn.decision.records.push_back(group.record());
  turn.decision.refused = [this, &group, id = member.id, now = turn.now,
                           before = std::move(before)](ErrorCode) mutable {
    Decision nothing;
    cancel_member_timer(group, id);
    ClassicMember& old = group.rename(id, before.id);
    group.set_protocols(old, std::move(before.protocols));
    old.client_id = std::move(before.client_id);
    old.client_host = std::move(before.client_host);
    old.rebalance_timeout = before.rebalance_timeout;
    old.session_timeout = before.session_timeout;
    old.timer_at.reset();
    expect_heartbeat({group, now, nothing}, old, old.session_timeout);
  };
}

}  // namespace barnabas::coordinator
