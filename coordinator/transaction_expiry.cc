#include "coordinator/transaction_records.h"
#include "coordinator/transaction_request.h"
#include "coordinator/transaction_shard.h"
#include "coordinator/transaction_turn.h"

/// What time does: transactions that take too long are aborted, ids that nobody uses are forgotten.
namespace barnabas::coordinator {

namespace {

constexpr std::string_view abort_timer = "timed out transactions";
constexpr std::string_view expiry_timer = "unused transactional ids";
/// One batch of the log must hold what one decision writes; the rest comes right behind it.
constexpr std::size_t batch_size_max = std::size_t{256} << 10;

}  // namespace

TransactionRequest::Progress AbortTimedOut::attempt(TransactionTurn& turn) {
  if (!turn.transaction() || !turn.transaction()->has_timed_out(turn.now().wall)) return Progress::done;
  return turn.abort() ? Progress::done : Progress::needs_producer_id;
}

void TransactionShard::begin_timers(const Now& now) {
  environment_.timers.set(abort_timer, now.instant + environment_.settings.abort_interval,
                          [this](const Now& at) { return abort_timed_out(at); });
  environment_.timers.set(expiry_timer, now.instant + environment_.settings.expiration_interval,
                          [this](const Now& at) { return expire_ids(at); });
}

Decision TransactionShard::abort_timed_out(const Now& now) {
  std::vector<TransactionTurn> turns;
  std::size_t size = 0;
  Instant next = now.instant + environment_.settings.abort_interval;
  for (const auto* entry : ongoing_) {
    if (!entry->second.transaction.has_timed_out(now.wall)) continue;
    if (size >= batch_size_max) {
      next = now.instant;
      break;
    }
    TransactionTurn& turn = turns.emplace_back(begin(entry->first, now));
    attempt(turn, std::make_unique<AbortTimedOut>(entry->first));
    size += turn.size();
  }
  environment_.timers.set(abort_timer, next, [this](const Now& at) { return abort_timed_out(at); });
  return finish(std::move(turns));
}

Decision TransactionShard::expire_ids(const Now& now) {
  const TimestampMs unused_since(now.wall.value() - environment_.settings.id_expiration.count());
  Decision decision;
  decision.replay = false;
  std::vector<std::string> expired;
  std::size_t size = 0;
  Instant next = now.instant + environment_.settings.expiration_interval;
  for (const auto& [transactional_id, entry] : transactions_) {
    const Transaction& transaction = entry.transaction;
    if (transaction.state == TransactionState::ongoing || transaction.is_decided()) continue;
    if (transaction.updated_at > unused_since) continue;
    if (size >= batch_size_max) {
      next = now.instant;
      break;
    }
    size += size_in_batch(decision.records.emplace_back(transaction_tombstone(transactional_id)));
    expired.push_back(transactional_id);
  }
  decision.appended = [this, expired = std::move(expired)] {
    for (const auto& transactional_id : expired) forget(transactional_id);
  };
  environment_.timers.set(expiry_timer, next, [this](const Now& at) { return expire_ids(at); });
  return decision;
}

}  // namespace barnabas::coordinator
