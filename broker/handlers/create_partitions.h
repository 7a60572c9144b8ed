#pragma once

#include "broker/call.h"
#include "protocol/messages/create_partitions_request.h"

namespace barnabas::broker {

/// CreatePartitions (37), v0–v3. Decided by the controller; answered when the change is on disk and this
/// broker serves it.
struct CreatePartitionsHandler {
  using Request = protocol::CreatePartitionsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
