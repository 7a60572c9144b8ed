#pragma once

#include "broker/call.h"
#include "protocol/messages/end_txn_request.h"

namespace barnabas::broker {

/// EndTxn (26): commits or aborts. From version 5 on, the producer goes on with another epoch (KIP-890).
struct EndTxnHandler {
  using Request = protocol::EndTxnRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
