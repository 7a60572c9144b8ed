#pragma once

#include "broker/call.h"
#include "protocol/messages/add_offsets_to_txn_request.h"

namespace barnabas::broker {

/// AddOffsetsToTxn (25): the partition that holds the offsets of a group becomes a part of the transaction.
struct AddOffsetsToTxnHandler {
  using Request = protocol::AddOffsetsToTxnRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
