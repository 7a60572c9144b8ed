#pragma once

#include "broker/call.h"
#include "protocol/messages/leave_group_request.h"

namespace barnabas::broker {

/// LeaveGroup (13), v0–v5: members leave a classic group at once instead of at the end of their sessions. One
/// member a request before v3, then many, each with its own outcome, and static ones by their instance id
/// alone (KIP-345); the reason came with v5 (KIP-800).
struct LeaveGroupHandler {
  using Request = protocol::LeaveGroupRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
