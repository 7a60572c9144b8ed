#pragma once

#include <functional>
#include <vector>

#include "protocol/messages/add_partitions_to_txn_request.h"
#include "protocol/messages/add_partitions_to_txn_response.h"

namespace barnabas::broker {

/// Asks the coordinator of a transaction whether partitions belong to it, or has it add them (KIP-890),
/// before anything is written into them.
class TransactionVerifier {
 public:
  virtual ~TransactionVerifier() = default;

  using Transaction = protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction;
  using Verified = protocol::AddPartitionsToTxnResponse::AddPartitionsToTxnResult;
  /// `transaction` owns its strings. `verified` runs once, on any thread, with a result for each partition in
  /// the order of the question; errors are those that a producer may be told (a coordinator that is loading
  /// or elsewhere is `not_enough_replicas`, as in Kafka, which makes it try again). From any thread; returns
  /// at once.
  virtual void verify(Transaction transaction, std::move_only_function<void(Verified)> verified) = 0;
};

}  // namespace barnabas::broker
