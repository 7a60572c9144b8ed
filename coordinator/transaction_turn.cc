#include "coordinator/transaction_turn.h"

#include "coordinator/transaction_records.h"

namespace barnabas::coordinator {

int16_t TransactionTurn::server_version() const {
  const auto& features = environment_->image->features;
  const auto found = features.find("transaction.version");
  return found == features.end() ? int16_t{0} : found->second;
}

void TransactionTurn::write(Transaction next) {
  // Nobody needs to know of partitions that were added one by one in the same moment.
  const bool replaces = has_changed_ && transaction_->state == TransactionState::ongoing &&
                        next.state == TransactionState::ongoing;
  Record record = transaction_record(transactional_id_, next, server_version());
  if (replaces) {
    decision_.records.back() = std::move(record);
  } else {
    decision_.records.push_back(std::move(record));
  }
  transaction_ = std::move(next);
  has_changed_ = true;
}

void TransactionTurn::decide(bool committed, int16_t client_version, ProducerId next_producer) {
  write(decided(*transaction_, committed, client_version, next_producer, now_.wall));
  if (transaction_->partitions.empty()) return write(completed(*transaction_, now_.wall));
  answer(ask_for_markers(*environment_,
                         missing_markers(*environment_, transactional_id_, *transaction_, number_)));
}

bool TransactionTurn::abort() {
  const Transaction& current = *transaction_;
  BARNABAS_ASSERT(current.state == TransactionState::ongoing);
  const int16_t version = server_version();
  if (version >= first_version_with_epoch_bump) {
    // The end itself gives the next epoch.
    ProducerId next = no_producer_id;
    if (current.epochs_are_used_up()) {
      const auto given = take_new_producer_id();
      if (!given) return false;
      next = *given;
    }
    decide(false, version, next);
    return true;
  }
  Transaction fenced = current;
  if (fenced.producer_epoch.value() != std::numeric_limits<int16_t>::max())
    fenced.producer_epoch = ProducerEpoch(static_cast<int16_t>(fenced.producer_epoch.value() + 1));
  fenced.last_producer_epoch = no_producer_epoch;
  transaction_ = std::move(fenced);
  decide(false, 0, no_producer_id);
  return true;
}

std::size_t TransactionTurn::size() const {
  std::size_t size = 0;
  for (const auto& record : decision_.records) size += size_in_batch(record);
  return size;
}

TransactionMarkers missing_markers(const TransactionEnvironment& environment,
                                   std::string_view transactional_id, const Transaction& transaction,
                                   uint64_t number) {
  return {.transactional_id = std::string(transactional_id),
          .producer_id = transaction.producer_id,
          .producer_epoch = transaction.producer_epoch,
          .committed = transaction.state == TransactionState::prepare_commit,
          .coordinator_epoch = environment.coordinator_epoch,
          .transaction_version = transaction.client_version,
          .partitions = transaction.partitions,
          .number = number};
}

ReadyReply ask_for_markers(const TransactionEnvironment& environment, TransactionMarkers markers) {
  return [&effects = environment.effects, markers = std::move(markers)](protocol::ErrorCode error) mutable {
    if (error == protocol::ErrorCode::none) effects.write_markers(std::move(markers));
  };
}

}  // namespace barnabas::coordinator
