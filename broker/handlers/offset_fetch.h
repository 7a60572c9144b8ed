#pragma once

#include "broker/call.h"
#include "protocol/messages/offset_fetch_request.h"

namespace barnabas::broker {

/// OffsetFetch (9), v1–v10: of some partitions or, since v2, of all. Groups' errors are in each partition of
/// v1, at the top of v2 to v7, and in each group since v8, when there came to be many in one request
/// (KIP-709). Only stable offsets since v7 (KIP-447), epochs of members since v9, topic ids since v10.
struct OffsetFetchHandler {
  using Request = protocol::OffsetFetchRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
