#pragma once

#include "broker/call.h"
#include "protocol/messages/delete_records_request.h"

namespace barnabas::broker {

/// DeleteRecords (21), v0–v2. Moves the log start offset up; -1 is the high watermark. The new start is on
/// disk when the answer leaves, so that no crash brings the records back. Records of the broker's own topics,
/// and of those that are only compacted, stay.
struct DeleteRecordsHandler {
  using Request = protocol::DeleteRecordsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
