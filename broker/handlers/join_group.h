#pragma once

#include "broker/call.h"
#include "protocol/messages/join_group_request.h"

namespace barnabas::broker {

/// JoinGroup (11), v0–v9: a member of a classic group joins, or joins again; answered when the group's next
/// generation begins. The rebalance timeout came with v1, the member id that must be asked for with v4
/// (KIP-394), static members with v5 (KIP-345), the protocol in the answer with v7 (KIP-559), the reason with
/// v8 (KIP-800), skip_assignment with v9 (KIP-814).
struct JoinGroupHandler {
  using Request = protocol::JoinGroupRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
