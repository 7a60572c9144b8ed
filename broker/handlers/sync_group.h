#pragma once

#include "broker/call.h"
#include "protocol/messages/sync_group_request.h"

namespace barnabas::broker {

/// SyncGroup (14), v0–v5: the leader of a generation of a classic group says who gets what, and each member
/// gets its share, once that is on disk. Static members came with v3 (KIP-345); from v5 on the protocol must
/// be named (KIP-559).
struct SyncGroupHandler {
  using Request = protocol::SyncGroupRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
