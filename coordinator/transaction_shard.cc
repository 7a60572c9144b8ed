#include "coordinator/transaction_shard.h"

#include "coordinator/transaction_records.h"
#include "coordinator/transaction_request.h"
#include "coordinator/transaction_turn.h"

namespace barnabas::coordinator {

using protocol::ErrorCode;

TransactionShard::TransactionShard(TransactionEnvironment environment)
    : environment_(std::move(environment)) {}

TransactionShard::~TransactionShard() = default;

// --- what is kept ----------------------------------------------------------------------------------

Result<void> TransactionShard::replay(const ReplayedRecord& record) {
  BARNABAS_ASSIGN(auto logged, decode_transaction_record(record));
  if (!logged) return {};
  if (logged->transaction) {
    keep(logged->transactional_id, std::move(*logged->transaction));
  } else {
    forget(logged->transactional_id);
  }
  return {};
}

void TransactionShard::end_transaction(ProducerId, bool) {}

std::optional<Transaction> TransactionShard::find(std::string_view transactional_id) const {
  const auto found = transactions_.find(transactional_id);
  if (found == transactions_.end()) return std::nullopt;
  return found->second.transaction;
}

TransactionShard::Entry& TransactionShard::keep(std::string_view transactional_id, Transaction transaction) {
  auto found = transactions_.find(transactional_id);
  if (found == transactions_.end()) found = transactions_.try_emplace(std::string(transactional_id)).first;
  Entry& entry = found->second;
  const bool was_ongoing = entry.transaction.state == TransactionState::ongoing;
  const bool is_ongoing = transaction.state == TransactionState::ongoing;
  if (was_ongoing && !is_ongoing) drop_from_ongoing(entry);
  if (!was_ongoing && is_ongoing) {
    entry.among_ongoing = ongoing_.size();
    ongoing_.push_back(&*found);
  }
  entry.transaction = std::move(transaction);
  return entry;
}

void TransactionShard::forget(std::string_view transactional_id) {
  const auto found = transactions_.find(transactional_id);
  if (found == transactions_.end()) return;
  if (found->second.transaction.state == TransactionState::ongoing) drop_from_ongoing(found->second);
  transactions_.erase(found);
}

void TransactionShard::drop_from_ongoing(const Entry& entry) {
  Entries::value_type* last = ongoing_.back();
  ongoing_[entry.among_ongoing] = last;
  last->second.among_ongoing = entry.among_ongoing;
  ongoing_.pop_back();
}

// --- the life of the shard -------------------------------------------------------------------------

Decision TransactionShard::loaded(const Now& now) {
  // Numbers go up with time, so that no answer to a shard that led this log before passes for one to this.
  last_turn_ = static_cast<uint64_t>(now.instant.time_since_epoch().count());
  begin_timers(now);
  Decision decision;
  for (auto& [transactional_id, entry] : transactions_) {
    if (!entry.transaction.is_decided()) continue;
    if (entry.transaction.partitions.empty()) {
      carry_on_later(transactional_id, now);
      continue;
    }
    entry.markers = ++last_turn_;
    // Not before the outcome is known to stay, which may have been read before it was synced.
    decision.replies.push_back(ask_for_markers(
        environment_, missing_markers(environment_, transactional_id, entry.transaction, entry.markers)));
  }
  return decision;
}

Decision TransactionShard::metadata_changed(const metadata::MetadataChanges&,
                                            const metadata::MetadataImagePtr& image, const Now&) {
  environment_.image = image;
  return {};
}

Decision TransactionShard::unload() {
  Decision decision;
  for (auto& [transactional_id, requests] : held_)
    for (auto& held : requests) decision.replies.push_back(held.request->refused(ErrorCode::not_coordinator));
  held_.clear();
  held_deadlines_.clear();
  held_count_ = 0;
  return decision;
}

// --- requests --------------------------------------------------------------------------------------

Decision TransactionShard::init_producer_id(const RequestContext& context,
                                            const protocol::InitProducerIdRequest& request,
                                            Reply<protocol::InitProducerIdResponse> reply) {
  return serve(std::make_unique<InitProducerId>(context.version, request, std::move(reply)), context.now);
}

Decision TransactionShard::add_partitions(
    const RequestContext& context,
    const protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction& transaction,
    Reply<protocol::AddPartitionsToTxnResponse::AddPartitionsToTxnResult> reply) {
  return serve(std::make_unique<AddPartitions>(context.version, transaction, std::move(reply)), context.now);
}

Decision TransactionShard::add_offsets(const RequestContext& context, std::string_view transactional_id,
                                       ProducerId producer_id, ProducerEpoch producer_epoch,
                                       int32_t offsets_partition, Reply<ErrorCode> reply) {
  return serve(std::make_unique<AddOffsets>(transactional_id, context.version, producer_id, producer_epoch,
                                            offsets_partition, std::move(reply)),
               context.now);
}

Decision TransactionShard::end_txn(const RequestContext& context, const protocol::EndTxnRequest& request,
                                   Reply<protocol::EndTxnResponse> reply) {
  return serve(std::make_unique<EndTransaction>(context.version, request, std::move(reply)), context.now);
}

}  // namespace barnabas::coordinator
