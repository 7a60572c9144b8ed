#pragma once

#include "broker/call.h"
#include "protocol/messages/consumer_group_heartbeat_request.h"

namespace barnabas::broker {

/// Whether groups of the consumer protocol (KIP-848) are served: the feature group.version has been finalized
/// at 1, and group.coordinator.rebalance.protocols names them. From any thread.
bool consumer_protocol_is_on(const Call& call);

/// ConsumerGroupHeartbeat (68), v0–v1: a member joins, shows that it is there, leaves, and hears what it is
/// to have. v1 brought regular expressions and ids that members choose themselves (KIP-1082).
struct ConsumerGroupHeartbeatHandler {
  using Request = protocol::ConsumerGroupHeartbeatRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
