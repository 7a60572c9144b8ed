#pragma once

#include "broker/call.h"
#include "protocol/messages/find_coordinator_request.h"

namespace barnabas::broker {

/// FindCoordinator (10), v0–v6: which broker has a group, or a transactional id. Before v4 one key a request;
/// key types came with v1. Makes the coordinators' topic when it is not there, and answers once it is; Kafka
/// lets the client ask again.
///  - Not implemented: coordinators of share groups, which are refused as by a Kafka without them.
struct FindCoordinatorHandler {
  using Request = protocol::FindCoordinatorRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
