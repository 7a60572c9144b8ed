#include "storage/transaction_verification.h"

#include <algorithm>

namespace barnabas::storage {

VerificationGuard TransactionVerifications::begin(const TransactionBegin& batch, VerificationGuard fresh,
                                                  TimestampMs now) {
  const auto [item, is_new] = pending_.try_emplace(batch.producer_id.value());
  Pending& pending = item->second;
  if (is_new || batch.epoch > pending.epoch) {
    pending = {.guard = fresh,
               .since = now,
               .epoch = batch.epoch,
               .lowest_sequence = batch.sequence,
               .adds_partition = batch.adds_partition};
  } else if (batch.epoch == pending.epoch) {
    pending.lowest_sequence = std::min(pending.lowest_sequence, batch.sequence);
  }
  return batch.epoch < pending.epoch ? fresh : pending.guard;
}

const TransactionVerifications::Pending* TransactionVerifications::find(ProducerId id) const {
  const auto found = pending_.find(id.value());
  return found == pending_.end() ? nullptr : &found->second;
}

void TransactionVerifications::opened(ProducerId id) {
  const auto pending = pending_.find(id.value());
  if (pending == pending_.end()) return;
  opened_by_[id.value()] = pending->second.guard;
  pending_.erase(pending);
}

void TransactionVerifications::refuse(ProducerId id, VerificationGuard guard) {
  const auto pending = pending_.find(id.value());
  if (pending != pending_.end() && pending->second.guard == guard) pending_.erase(pending);
}

bool TransactionVerifications::may_go_on(ProducerId id, VerificationGuard guard) const {
  const auto opened_by = opened_by_.find(id.value());
  return guard == no_guard || opened_by == opened_by_.end() || opened_by->second == guard;
}

void TransactionVerifications::expire(TimestampMs now, int64_t expiration_ms) {
  boost::unordered::erase_if(pending_,
                             [&](const auto& item) { return item.second.since <= now - expiration_ms; });
}

}  // namespace barnabas::storage
