#include <limits>

#include "coordinator/transaction_records.h"
#include "coordinator/transaction_request.h"

/// InitProducerId: KIP-98, with the producer's own id and epoch KIP-360.
namespace barnabas::coordinator {

using protocol::ErrorCode;

InitProducerId::InitProducerId(int16_t version, const protocol::InitProducerIdRequest& request,
                               Reply<protocol::InitProducerIdResponse> reply)
    : TransactionRequest(request.transactional_id ? request.transactional_id->view() : std::string_view()),
      version_(version),
      timeout_ms_(request.transaction_timeout_ms),
      two_phase_commit_(request.enable2_pc),
      keeps_prepared_(request.keep_prepared_txn),
      producer_id_(request.producer_id),
      producer_epoch_(request.producer_epoch),
      reply_(std::move(reply)) {}

ReadyReply InitProducerId::refused(ErrorCode error) {
  protocol::InitProducerIdResponse response;
  response.error_code = static_cast<int16_t>(fenced_for(version_, 4, error));
  response.producer_id = no_producer_id.value();
  response.producer_epoch = no_producer_epoch.value();
  return reply_.with(std::move(response));
}

ErrorCode InitProducerId::check(const TransactionSettings& settings) const {
  if ((producer_id_ == no_producer_id) != (producer_epoch_ == no_producer_epoch))
    return ErrorCode::invalid_request;
  if (transactional_id().empty()) return ErrorCode::invalid_request;
  // The second phase of distributed transactions (KIP-939) is not to be had.
  if (two_phase_commit_) return ErrorCode::transactional_id_authorization_failed;
  if (keeps_prepared_) return ErrorCode::unsupported_version;
  if (timeout_ms_ <= 0 || std::chrono::milliseconds(timeout_ms_) > settings.max_timeout)
    return ErrorCode::invalid_transaction_timeout;
  if (transactional_id().size() > transactional_id_size_max) return ErrorCode::unknown_server_error;
  return ErrorCode::none;
}

// Or it was before the epochs were used up, and did not hear that it has a new id now.
bool InitProducerId::is_its_producer(const Transaction& transaction) const {
  return producer_id_ == transaction.producer_id ||
         (producer_id_ == transaction.previous_producer_id && producer_epoch_ >= exhausted_epoch);
}

TransactionRequest::Progress InitProducerId::attempt(TransactionTurn& turn) {
  if (const ErrorCode error = check(turn.settings()); error != ErrorCode::none) return refuse(turn, error);
  if (!turn.transaction()) {
    const auto producer = turn.take_new_producer_id();
    if (!producer) return Progress::needs_producer_id;
    return initialize(turn, new_transaction(*producer, turn.now().wall));
  }
  const Transaction& current = *turn.transaction();
  if (current.is_decided()) return Progress::waits;
  if (producer_id_ != no_producer_id && !is_its_producer(current))
    return refuse(turn, ErrorCode::producer_fenced);
  if (current.state != TransactionState::ongoing) return initialize(turn, current);
  // It was never told of the epoch that fences the one before.
  if (!turn.abort()) return Progress::needs_producer_id;
  return turn.transaction()->is_decided() ? Progress::waits : initialize(turn, *turn.transaction());
}

TransactionRequest::Progress InitProducerId::initialize(TransactionTurn& turn, const Transaction& current) {
  const bool knows_epoch = producer_id_ != no_producer_id;
  if (!current.epochs_are_used_up() || (knows_epoch && producer_epoch_ != current.producer_epoch))
    return advance_epoch(turn, current);
  const auto producer = turn.take_new_producer_id();
  if (!producer) return Progress::needs_producer_id;
  return finish(turn,
                initialized_anew(current, *producer, knows_epoch ? current.producer_epoch : no_producer_epoch,
                                 timeout_ms_, turn.now().wall));
}

TransactionRequest::Progress InitProducerId::advance_epoch(TransactionTurn& turn,
                                                           const Transaction& current) {
  const bool knows_epoch = producer_id_ != no_producer_id;
  const bool is_new = current.producer_epoch == no_producer_epoch;
  if (!knows_epoch || is_new || producer_epoch_ == current.producer_epoch) {
    const ProducerEpoch next(static_cast<int16_t>(current.producer_epoch.value() + 1));
    return finish(turn, initialized(current, next, knows_epoch ? current.producer_epoch : no_producer_epoch,
                                    timeout_ms_, turn.now().wall));
  }
  // The same again, from one that did not hear of its new epoch.
  if (producer_epoch_ == current.last_producer_epoch)
    return finish(turn, initialized(current, current.producer_epoch, current.last_producer_epoch, timeout_ms_,
                                    turn.now().wall));
  return refuse(turn, ErrorCode::producer_fenced);
}

TransactionRequest::Progress InitProducerId::finish(TransactionTurn& turn, Transaction next) {
  protocol::InitProducerIdResponse response;
  response.producer_id = next.producer_id.value();
  response.producer_epoch = next.producer_epoch.value();
  turn.write(std::move(next));
  turn.answer(reply_.with(std::move(response)));
  return Progress::done;
}

}  // namespace barnabas::coordinator
