#include "broker/handlers/consumer_group_heartbeat.h"

#include <set>

#include "broker/handlers/coordinate.h"
#include "protocol/messages/consumer_group_heartbeat_response.h"

namespace barnabas::broker {

using protocol::ConsumerGroupHeartbeatResponse;
using protocol::ErrorCode;

bool consumer_protocol_is_on(const Call& call) {
  const auto image = call.services().metadata.current();
  const auto level = image->features.find("group.version");
  return level != image->features.end() && level->second >= 1 &&
         call.services().groups.settings().consumer_protocol;
}

namespace {

/// Why the sender may not be a member that subscribes to that.
ErrorCode denied(const Rights& rights, const protocol::ConsumerGroupHeartbeatRequest& request) {
  if (!rights.may(Right::consumer_heartbeat_group, request.group_id))
    return ErrorCode::group_authorization_failed;
  if (!rights.limited() || !request.subscribed_topic_names) return ErrorCode::none;
  bool all = true;
  const std::set<std::string_view> names(request.subscribed_topic_names->begin(),
                                         request.subscribed_topic_names->end());
  for (const std::string_view name : names) all &= rights.may(Right::consumer_heartbeat_topic, name);
  return all ? ErrorCode::none : ErrorCode::topic_authorization_failed;
}

}  // namespace

void ConsumerGroupHeartbeatHandler::handle(Call call, Request request) {
  if (!consumer_protocol_is_on(call))
    return call.reply(error_response<ConsumerGroupHeartbeatResponse>(ErrorCode::unsupported_version));
  if (const ErrorCode error = denied(call.rights(), request); error != ErrorCode::none)
    return call.reply(error_response<ConsumerGroupHeartbeatResponse>(error));
  const std::string_view group = request.group_id;
  coordinate(
      std::move(call), std::move(request), group, &coordinator::GroupShard::consumer_heartbeat,
      [](const Request&, ErrorCode error) { return error_response<ConsumerGroupHeartbeatResponse>(error); });
}

}  // namespace barnabas::broker
