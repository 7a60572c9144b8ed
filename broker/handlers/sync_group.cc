#include "broker/handlers/sync_group.h"

#include "broker/handlers/coordinate.h"
#include "coordinator/classic_answers.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::SyncGroupRequest;

constexpr int16_t protocol_required_since = 5;

ErrorCode validate(const Call& call, const SyncGroupRequest& request) {
  const int16_t version = call.version();
  if (version >= protocol_required_since && (!request.protocol_type || !request.protocol_name))
    return ErrorCode::inconsistent_group_protocol;
  if (!call.rights().may(Right::sync_group, request.group_id)) return ErrorCode::group_authorization_failed;
  return request.group_id.empty() ? ErrorCode::invalid_group_id : ErrorCode::none;
}

}  // namespace

void SyncGroupHandler::handle(Call call, Request request) {
  if (const ErrorCode error = validate(call, request); error != ErrorCode::none)
    return call.reply(coordinator::sync_refused(error));
  const std::string_view group = request.group_id;
  coordinate(std::move(call), std::move(request), group, &coordinator::GroupShard::sync_group,
             [](const SyncGroupRequest&, ErrorCode error) { return coordinator::sync_refused(error); });
}

}  // namespace barnabas::broker
