#include "broker/handlers/consumer_group_heartbeat.h"

#include <algorithm>

#include "broker/handlers/coordinate.h"
#include "protocol/messages/consumer_group_heartbeat_response.h"

namespace barnabas::broker {
namespace {

using protocol::ConsumerGroupHeartbeatResponse;
using protocol::ErrorCode;

ConsumerGroupHeartbeatResponse failed(ErrorCode error) {
  ConsumerGroupHeartbeatResponse response;
  response.error_code = to_wire(error);
  return response;
}

}  // namespace

bool consumer_protocol_is_on(const Call& call) {
  const auto image = call.services().metadata.current();
  const auto level = image->features.find("group.version");
  if (level == image->features.end() || level->second < 1) return false;
  const auto protocols = call.services().config.list("group.coordinator.rebalance.protocols");
  return std::ranges::find(protocols, "consumer") != protocols.end();
}

void ConsumerGroupHeartbeatHandler::handle(Call call, Request request) {
  if (!consumer_protocol_is_on(call)) return call.reply(failed(ErrorCode::unsupported_version));
  const protocol::String group = request.group_id;
  coordinate(
      std::move(call), std::move(request), group.view(),
      [](coordinator::GroupShard& shard, const coordinator::RequestContext& context, const Request& beat,
         coordinator::Reply<ConsumerGroupHeartbeatResponse> reply) {
        return shard.consumer_heartbeat(context, beat, std::move(reply));
      },
      [](const Request&, ErrorCode error) { return failed(error); });
}

}  // namespace barnabas::broker
