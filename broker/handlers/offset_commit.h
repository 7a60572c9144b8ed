#pragma once

#include "broker/call.h"
#include "protocol/messages/offset_commit_request.h"

namespace barnabas::broker {

/// OffsetCommit (8), v2–v10: answered once the offsets are durable. Static members since v7, epochs of
/// members (KIP-848) since v9, topics by their ids since v10. Each partition has its own error, also where
/// all fail alike.
struct OffsetCommitHandler {
  using Request = protocol::OffsetCommitRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
