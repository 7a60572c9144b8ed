#include "coordinator/transaction_request.h"

/// EndTxn: KIP-98, and with a new epoch at each end KIP-890.
namespace barnabas::coordinator {

using protocol::ErrorCode;
using Progress = TransactionRequest::Progress;

EndTransaction::EndTransaction(int16_t version, const protocol::EndTxnRequest& request,
                               Reply<protocol::EndTxnResponse> reply)
    : TransactionRequest(request.transactional_id),
      version_(version),
      producer_id_(request.producer_id),
      producer_epoch_(request.producer_epoch),
      commits_(request.committed),
      reply_(std::move(reply)) {}

ReadyReply EndTransaction::refused(ErrorCode error) {
  protocol::EndTxnResponse response;
  response.error_code = static_cast<int16_t>(fenced_for(version_, 2, error));
  return reply_.with(std::move(response));
}

Progress EndTransaction::accept(TransactionTurn& turn, ProducerId producer_id, ProducerEpoch producer_epoch) {
  protocol::EndTxnResponse response;
  response.producer_id = producer_id.value();
  response.producer_epoch = producer_epoch.value();
  turn.answer(reply_.with(std::move(response)));
  return Progress::done;
}

// Whether the transaction ended as this request wants it.
bool EndTransaction::was(const Transaction& transaction) const {
  return transaction.state ==
         (commits_ ? TransactionState::complete_commit : TransactionState::complete_abort);
}

Progress EndTransaction::attempt(TransactionTurn& turn) {
  if (transactional_id().empty()) return refuse(turn, ErrorCode::invalid_request);
  if (!turn.transaction()) return refuse(turn, ErrorCode::invalid_producer_id_mapping);
  const bool gives_epoch = version_ >= 5;
  return gives_epoch ? end_with_new_epoch(turn, *turn.transaction()) : end(turn, *turn.transaction());
}

Progress EndTransaction::end(TransactionTurn& turn, const Transaction& current) {
  if (current.producer_id != producer_id_) return refuse(turn, ErrorCode::invalid_producer_id_mapping);
  if (current.producer_epoch != producer_epoch_) return refuse(turn, ErrorCode::producer_fenced);
  if (current.is_decided()) return Progress::waits;
  if (current.state != TransactionState::ongoing && !was(current))
    return refuse(turn, ErrorCode::invalid_txn_state);
  if (current.state == TransactionState::ongoing) turn.decide(commits_, 0, no_producer_id);
  return accept(turn, no_producer_id, no_producer_epoch);
}

Progress EndTransaction::end_with_new_epoch(TransactionTurn& turn, const Transaction& current) {
  if (current.is_decided()) return Progress::waits;
  // It did not hear of the end of this transaction, and of what it goes on with. That end must have been one
  // that gave an epoch: otherwise it is another producer's, who has been given its epoch when it began.
  const bool gave_epoch = current.client_version >= first_version_with_epoch_bump;
  const bool repeats_last_epoch = gave_epoch && producer_epoch_ == exhausted_epoch &&
                                  current.previous_producer_id == producer_id_ &&
                                  current.producer_epoch == ProducerEpoch{0};
  const bool repeats =
      repeats_last_epoch || (gave_epoch && current.producer_epoch.value() == producer_epoch_.value() + 1);
  if (current.producer_id != producer_id_ && !repeats_last_epoch)
    return refuse(turn, ErrorCode::invalid_producer_id_mapping);
  if (current.producer_epoch != producer_epoch_ && !(repeats && current.is_complete()))
    return refuse(turn, ErrorCode::producer_fenced);
  if (current.state == TransactionState::ongoing) return decide_with_new_epoch(turn, current);
  if (repeats)
    return was(current) ? accept(turn, current.producer_id, current.producer_epoch)
                        : refuse(turn, ErrorCode::invalid_txn_state);
  // The next transaction, and nothing came to be a part of it. Aborting that is how a producer that does not
  // know what the broker took gets an epoch in which nothing old can arrive.
  if (commits_) return refuse(turn, ErrorCode::invalid_txn_state);
  return decide_with_new_epoch(turn, current);
}

Progress EndTransaction::decide_with_new_epoch(TransactionTurn& turn, const Transaction& current) {
  // The log could not keep what came of it: its values know nothing of versions yet.
  if (turn.server_version() == 0) return refuse(turn, ErrorCode::unsupported_version);
  ProducerId next = no_producer_id;
  if (current.epochs_are_used_up()) {
    const auto given = turn.take_new_producer_id();
    if (!given) return Progress::needs_producer_id;
    next = *given;
  }
  turn.decide(commits_, first_version_with_epoch_bump, next);
  const Transaction& decided = *turn.transaction();
  if (next != no_producer_id) return accept(turn, next, ProducerEpoch{0});
  return accept(turn, decided.producer_id, decided.producer_epoch);
}

}  // namespace barnabas::coordinator
