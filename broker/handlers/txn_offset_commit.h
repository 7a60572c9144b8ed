#pragma once

#include "broker/call.h"
#include "protocol/messages/txn_offset_commit_request.h"

namespace barnabas::broker {

/// TxnOffsetCommit (28), v0–v6: offsets as a part of the producer's transaction (KIP-98, KIP-447).
///  - That the transaction is open, and has the group's partition of __consumer_offsets in it, is verified
///  with
///    its coordinator (KIP-890); from v5 on the partition is added by that.
///  - Errors are per partition; partitions that do not exist are told so before anything else is looked at.
struct TxnOffsetCommitHandler {
  using Request = protocol::TxnOffsetCommitRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
