#pragma once

#include "broker/call.h"
#include "protocol/messages/heartbeat_request.h"

namespace barnabas::broker {

/// Heartbeat (12), v0–v4: a member of a classic group is alive, and learns whether it has to join again.
/// Static members came with v3 (KIP-345). While the group is still being loaded all is well, as with Kafka:
/// nobody has been given up yet.
struct HeartbeatHandler {
  using Request = protocol::HeartbeatRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
