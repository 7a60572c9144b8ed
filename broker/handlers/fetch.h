#pragma once

#include "broker/call.h"
#include "protocol/messages/fetch_request.h"

namespace barnabas::broker {

/// Fetch (1), v4–v18.
///  - Sessions (KIP-227) from v7; topics by id from v13; divergence by last fetched epoch (KIP-595) from v12.
///  - The first partition that has something gives at least one whole batch, whatever the limits say.
///  - Waits for min_bytes at most max_wait_ms; an idle wait costs one timer.
///  - Only consumers are served: a replica id of another broker is answered with not_leader_or_follower.
struct FetchHandler {
  using Request = protocol::FetchRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
