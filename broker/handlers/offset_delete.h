#pragma once

#include "broker/call.h"
#include "protocol/messages/offset_delete_request.h"

namespace barnabas::broker {

/// OffsetDelete (47), v0 (KIP-496): partitions of topics that the group is subscribed to are refused one by
/// one, a group that is not there or cannot say at the top.
struct OffsetDeleteHandler {
  using Request = protocol::OffsetDeleteRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
