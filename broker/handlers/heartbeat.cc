#include "broker/handlers/heartbeat.h"

#include "broker/handlers/coordinate.h"
#include "protocol/messages/heartbeat_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::HeartbeatRequest;
using protocol::HeartbeatResponse;

HeartbeatResponse failed(ErrorCode error) {
  HeartbeatResponse response;
  if (error != ErrorCode::coordinator_load_in_progress) response.error_code = to_wire(error);
  return response;
}

}  // namespace

void HeartbeatHandler::handle(Call call, Request request) {
  if (!call.rights().may(Right::heartbeat_group, request.group_id))
    return call.reply(failed(ErrorCode::group_authorization_failed));
  if (request.group_id.empty()) return call.reply(failed(ErrorCode::invalid_group_id));
  const std::string_view group = request.group_id;
  coordinate(std::move(call), std::move(request), group, &coordinator::GroupShard::heartbeat,
             [](const HeartbeatRequest&, ErrorCode error) { return failed(error); });
}

}  // namespace barnabas::broker
