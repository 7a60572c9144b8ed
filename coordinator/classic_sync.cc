#include "base/assert.h"
#include "coordinator/classic_answers.h"
#include "coordinator/classic_protocol.h"

namespace barnabas::coordinator {

using protocol::ErrorCode;

namespace {

std::optional<std::string_view> view_of(const std::optional<protocol::String>& text) {
  if (!text) return std::nullopt;
  return text->view();
}

// Old clients do not say.
bool contradicts(const std::optional<protocol::String>& said, std::string_view known) {
  return said && *said != known;
}

ErrorCode validate_sync(const ClassicGroup& group, const protocol::SyncGroupRequest& request) {
  if (group.is_in(ClassicState::dead)) return ErrorCode::coordinator_not_available;
  const ErrorCode error = group.validate_member(request.member_id, view_of(request.group_instance_id));
  if (error != ErrorCode::none) return error;
  if (request.generation_id != group.generation()) return ErrorCode::illegal_generation;
  if (contradicts(request.protocol_type, group.protocol_type()) ||
      (group.protocol_name() && contradicts(request.protocol_name, *group.protocol_name())))
    return ErrorCode::inconsistent_group_protocol;
  if (group.is_in(ClassicState::preparing_rebalance)) return ErrorCode::rebalance_in_progress;
  return ErrorCode::none;
}

}  // namespace

Decision ClassicProtocol::sync_group(const RequestContext& context, const protocol::SyncGroupRequest& request,
                                     SyncReply reply) {
  Decision decision;
  decision.replay = false;
  const auto refuse = [&](ErrorCode error) { decision.replies.push_back(reply.with(sync_refused(error))); };
  auto* const group = groups_.find_as<ClassicGroup>(request.group_id);
  if (group == nullptr || group->is_empty()) {
    refuse(ErrorCode::unknown_member_id);
  } else if (const ErrorCode error = validate_sync(*group, request); error != ErrorCode::none) {
    refuse(error);
  } else {
    sync({*group, context.now, decision}, request, std::move(reply));
  }
  return decision;
}

// Whoever asks in a settled generation gets what it has in it.
void ClassicProtocol::sync(const Turn& turn, const protocol::SyncGroupRequest& request, SyncReply reply) {
  ClassicGroup& group = turn.group;
  ClassicMember& member = *group.find_member(request.member_id);
  group.note_sync(member.id);
  if (group.unsynced().empty()) environment_.timers.cancel(sync_timer(group));
  if (group.is_in(ClassicState::stable)) {
    turn.decision.replies.push_back(reply.with(synced(group, member)));
    return;
  }
  // It asks again, surely over another connection.
  if (SyncReply superseded = std::exchange(member.sync, {}))
    turn.decision.replies.push_back(superseded.with(sync_refused(ErrorCode::rebalance_in_progress)));
  member.sync = std::move(reply);
  if (group.is_leader(member.id)) settle(turn, request);
}

// The leader has shared out. What it gives to nobody of the group is dropped; of several shares for one
// member the last counts.
void ClassicProtocol::settle(const Turn& turn, const protocol::SyncGroupRequest& request) {
  ClassicGroup& group = turn.group;
  group.empty_assignments();
  for (const auto& share : request.assignments)
    if (ClassicMember* member = group.find_member(share.member_id))
      member->assignment = share.assignment.owned();
  turn.decision.records.push_back(group.record());
  for (const auto& [id, member] : group.members())
    if (member.is_syncing()) answer_sync(turn, *group.find_member(id), synced(group, member));
  group.enter(ClassicState::stable, turn.now.wall);
  // The generation cannot be kept, so its members must try again. They have got the reason as answers.
  turn.decision.refused = [this, &group, now = turn.now](ErrorCode) {
    group.empty_assignments();
    Decision nothing;
    prepare_rebalance({group, now, nothing});
    BARNABAS_ASSERT(nothing.records.empty() && nothing.replies.empty());
  };
}

Decision ClassicProtocol::heartbeat(const RequestContext& context, const protocol::HeartbeatRequest& request,
                                    Reply<protocol::HeartbeatResponse> reply) {
  Decision decision;
  auto* const group = groups_.find_as<ClassicGroup>(request.group_id);
  const auto outcome = [&] {
    if (group == nullptr) return ErrorCode::unknown_member_id;
    if (group->is_in(ClassicState::dead)) return ErrorCode::coordinator_not_available;
    const ErrorCode error = group->validate_member(request.member_id, view_of(request.group_instance_id));
    if (error != ErrorCode::none) return error;
    if (request.generation_id != group->generation()) return ErrorCode::illegal_generation;
    ClassicMember& member = *group->find_member(request.member_id);
    expect_heartbeat({*group, context.now, decision}, member, member.session_timeout);
    return group->is_in(ClassicState::preparing_rebalance) ? ErrorCode::rebalance_in_progress
                                                           : ErrorCode::none;
  };
  protocol::HeartbeatResponse response;
  response.error_code = protocol::to_wire(outcome());
  decision.replies.push_back(reply.with(std::move(response)));
  return decision;
}

}  // namespace barnabas::coordinator
