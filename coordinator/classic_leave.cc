#include "coordinator/classic_protocol.h"

namespace barnabas::coordinator {

using protocol::ErrorCode;

namespace {

/// Before this version a request is about one member, which the answer does not name.
constexpr int16_t members_listed_since = 3;

std::vector<protocol::LeaveGroupRequest::MemberIdentity> leaving(const RequestContext& context,
                                                                 const protocol::LeaveGroupRequest& request) {
  if (context.version >= members_listed_since) return request.members;
  protocol::LeaveGroupRequest::MemberIdentity member;
  member.member_id = request.member_id;
  return {std::move(member)};
}

}  // namespace

Decision ClassicProtocol::leave_group(const RequestContext& context,
                                      const protocol::LeaveGroupRequest& request,
                                      Reply<protocol::LeaveGroupResponse> reply) {
  Decision decision;
  protocol::LeaveGroupResponse response;
  auto* const group = groups_.find_as<ClassicGroup>(request.group_id);
  if (group != nullptr && group->is_in(ClassicState::dead)) {
    response.error_code = protocol::to_wire(ErrorCode::coordinator_not_available);
  } else {
    bool somebody_left = false;
    for (const auto& member : leaving(context, request)) {
      const ErrorCode error =
          group == nullptr ? ErrorCode::unknown_member_id : leave({*group, context.now, decision}, member);
      somebody_left |= error == ErrorCode::none;
      auto& outcome = response.members.emplace_back();
      outcome.member_id = member.member_id;
      outcome.group_instance_id = member.group_instance_id;
      outcome.error_code = protocol::to_wire(error);
    }
    if (somebody_left && !group->is_empty()) rebalance_or_complete({*group, context.now, decision});
    if (context.version < members_listed_since) {
      response.error_code = response.members.front().error_code;
      response.members.clear();
    }
  }
  decision.replies.push_back(reply.with(std::move(response)));
  return decision;
}

// An administrator takes out static members by their instance id alone (KIP-345).
ErrorCode ClassicProtocol::leave(const Turn& turn,
                                 const protocol::LeaveGroupRequest::MemberIdentity& member) {
  ClassicGroup& group = turn.group;
  if (member.member_id.empty()) {
    const std::string* id = member.group_instance_id ? group.find_static(*member.group_instance_id) : nullptr;
    if (id == nullptr) return ErrorCode::unknown_member_id;
    drop_member(turn, std::string(*id));
    return ErrorCode::none;
  }
  if (!group.is_pending(member.member_id)) {
    std::optional<std::string_view> instance_id;
    if (member.group_instance_id) instance_id = member.group_instance_id->view();
    const ErrorCode error = group.validate_member(member.member_id, instance_id);
    if (error != ErrorCode::none) return error;
  }
  drop_member(turn, member.member_id);
  return ErrorCode::none;
}

}  // namespace barnabas::coordinator
