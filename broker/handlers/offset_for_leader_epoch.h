#pragma once

#include "broker/call.h"
#include "protocol/messages/offset_for_leader_epoch_request.h"
#include "protocol/messages/offset_for_leader_epoch_response.h"

namespace barnabas::broker {

/// OffsetForLeaderEpoch (23), v2–v4. Answers where an epoch ended, so that clients can detect truncation
/// (KIP-320).
///  - The current epoch ends at the log end; an unknown newer one is -1, -1.
struct OffsetForLeaderEpochHandler {
  using Request = protocol::OffsetForLeaderEpochRequest;
  static Request::Response handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
