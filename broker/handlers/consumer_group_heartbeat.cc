#include "broker/handlers/consumer_group_heartbeat.h"

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

void ConsumerGroupHeartbeatHandler::handle(Call call, Request request) {
  if (!consumer_protocol_is_on(call))
    return call.reply(error_response<ConsumerGroupHeartbeatResponse>(ErrorCode::unsupported_version));
  const std::string_view group = request.group_id;
  coordinate(
      std::move(call), std::move(request), group, &coordinator::GroupShard::consumer_heartbeat,
      [](const Request&, ErrorCode error) { return error_response<ConsumerGroupHeartbeatResponse>(error); });
}

}  // namespace barnabas::broker
