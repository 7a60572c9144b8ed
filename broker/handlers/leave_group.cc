#include "broker/handlers/leave_group.h"

#include "broker/handlers/coordinate.h"
#include "protocol/messages/leave_group_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::LeaveGroupRequest;
using protocol::LeaveGroupResponse;

LeaveGroupResponse failed(ErrorCode error) {
  LeaveGroupResponse response;
  response.error_code = to_wire(error);
  return response;
}

}  // namespace

void LeaveGroupHandler::handle(Call call, Request request) {
  if (request.group_id.empty()) return call.reply(failed(ErrorCode::invalid_group_id));
  const std::string_view group = request.group_id;
  coordinate(
      std::move(call), std::move(request), group,
      [](coordinator::GroupShard& shard, const coordinator::RequestContext& context,
         const LeaveGroupRequest& asked, coordinator::Reply<LeaveGroupResponse> reply) {
        return shard.leave_group(context, asked, std::move(reply));
      },
      [](const LeaveGroupRequest&, ErrorCode error) { return failed(error); });
}

}  // namespace barnabas::broker
