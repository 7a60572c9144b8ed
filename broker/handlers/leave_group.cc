#include "broker/handlers/leave_group.h"

#include "broker/handlers/coordinate.h"
#include "protocol/messages/leave_group_response.h"

namespace barnabas::broker {

using protocol::ErrorCode;
using protocol::LeaveGroupRequest;
using protocol::LeaveGroupResponse;

void LeaveGroupHandler::handle(Call call, Request request) {
  if (!call.rights().may(Right::leave_group, request.group_id))
    return call.reply(error_response<LeaveGroupResponse>(ErrorCode::group_authorization_failed));
  if (request.group_id.empty())
    return call.reply(error_response<LeaveGroupResponse>(ErrorCode::invalid_group_id));
  const std::string_view group = request.group_id;
  coordinate(
      std::move(call), std::move(request), group, &coordinator::GroupShard::leave_group,
      [](const LeaveGroupRequest&, ErrorCode error) { return error_response<LeaveGroupResponse>(error); });
}

}  // namespace barnabas::broker
