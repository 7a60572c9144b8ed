#pragma once

#include "broker/call.h"
#include "protocol/messages/write_txn_markers_request.h"

namespace barnabas::broker {

/// WriteTxnMarkers (27): from coordinators, and from tools that abort a transaction that hangs (KIP-664).
struct WriteTxnMarkersHandler {
  using Request = protocol::WriteTxnMarkersRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
