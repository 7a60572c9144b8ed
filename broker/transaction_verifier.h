#pragma once

#include <functional>
#include <vector>

#include "protocol/error_code.h"
#include "protocol/messages/add_partitions_to_txn_request.h"
#include "protocol/messages/add_partitions_to_txn_response.h"

namespace barnabas::broker {

/// The word of a transaction's coordinator, as whoever writes a part of the transaction may be told: of
/// coordinators it learns nothing, and tries again. What it has been made into once stays as it is.
/// `verify_only`: of version 1, which does not know that an earlier transaction may still be ending.
constexpr protocol::ErrorCode told_to_writers(protocol::ErrorCode error, bool verify_only) {
  using protocol::ErrorCode;
  switch (error) {
    // It is tried again by all clients, and does not make them ask for metadata.
    case ErrorCode::network_exception:
    case ErrorCode::coordinator_load_in_progress:
    case ErrorCode::coordinator_not_available:
    case ErrorCode::not_coordinator:
      return ErrorCode::not_enough_replicas;
    case ErrorCode::concurrent_transactions:
      return verify_only ? ErrorCode::not_enough_replicas : error;
    case ErrorCode::producer_fenced:
      return ErrorCode::invalid_producer_epoch;
    default:
      return error;
  }
}

/// Asks the coordinator of a transaction whether partitions belong to it, or has it add them (KIP-890),
/// before anything is written into them.
class TransactionVerifier {
 public:
  virtual ~TransactionVerifier() = default;

  using Transaction = protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction;
  using Verified = protocol::AddPartitionsToTxnResponse::AddPartitionsToTxnResult;
  /// `transaction` owns its strings. `verified` runs once, on any thread, with a result for each partition in
  /// the order of the question; errors are told_to_writers. From any thread; returns at once.
  virtual void verify(Transaction transaction, std::move_only_function<void(Verified)> verified) = 0;
};

}  // namespace barnabas::broker
