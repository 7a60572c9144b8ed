#pragma once

#include "broker/call.h"
#include "protocol/messages/add_partitions_to_txn_request.h"

namespace barnabas::broker {

/// AddPartitionsToTxn (24): from clients (0 to 3), and from brokers that lead partitions (4 and 5, KIP-890).
struct AddPartitionsToTxnHandler {
  using Request = protocol::AddPartitionsToTxnRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
