#pragma once

#include "broker/call.h"
#include "protocol/messages/list_offsets_request.h"

namespace barnabas::broker {

/// ListOffsets (2), v1–v11.
///  - -1 latest (high watermark; last stable offset under read_committed), -2 earliest; -3 record with the
///  largest timestamp
///    (v7), -4 earliest local (v8), -5 last tiered (v9) and -6 earliest pending upload (v11), of which the
///    last two never exist without tiered storage.
///  - A timestamp finds the first record at or after it, exactly, also inside compressed batches.
///  - A partition that is named twice is answered once, with invalid_request.
struct ListOffsetsHandler {
  using Request = protocol::ListOffsetsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
