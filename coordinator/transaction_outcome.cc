#include "coordinator/transaction_request.h"
#include "coordinator/transaction_shard.h"
#include "coordinator/transaction_turn.h"

/// From the decision to the end: markers, and what becomes of those that cannot be written.
namespace barnabas::coordinator {

using protocol::ErrorCode;

namespace {

/// Before markers, or the record of the end, are tried again.
constexpr std::chrono::milliseconds retry_pause(100);

}  // namespace

Decision TransactionShard::markers_written(const TransactionMarkers& markers,
                                           const std::vector<MarkerResult>& results, const Now& now) {
  const auto found = transactions_.find(markers.transactional_id);
  if (found == transactions_.end()) return {};
  Entry& entry = found->second;
  if (!entry.transaction.is_decided() || entry.markers != markers.number) return {};
  TransactionPartitions& missing = entry.transaction.partitions;
  for (const auto& result : results) {
    switch (result.error) {
      case ErrorCode::transaction_coordinator_fenced:
        // Another coordinator has taken over and carries it on.
        return {};
      case ErrorCode::none:
      // The partition has gone on with a later epoch: it saw the end of this transaction already.
      case ErrorCode::invalid_producer_epoch:
      // It never took transactional records, so there is nothing to end.
      case ErrorCode::unsupported_for_message_format:
      case ErrorCode::unsupported_version:
        remove(missing, result.topic, result.partition);
        break;
      case ErrorCode::unknown_topic_or_partition:
        if (!is_there(result.topic, result.partition)) remove(missing, result.topic, result.partition);
        break;
      default:
        break;
    }
  }
  if (missing.empty()) return complete(found->first, now);
  carry_on_later(found->first, now);
  return {};
}

bool TransactionShard::is_there(const std::string& topic, int32_t partition) const {
  const auto* image = environment_.image->topic(topic);
  return image != nullptr && partition >= 0 && std::cmp_less(partition, image->partitions.size());
}

void TransactionShard::carry_on_later(const std::string& transactional_id, const Now& now) {
  environment_.timers.set("markers of " + transactional_id, now.instant + retry_pause,
                          [this, transactional_id](const Now& at) { return carry_on(transactional_id, at); });
}

Decision TransactionShard::carry_on(const std::string& transactional_id, const Now& now) {
  const auto found = transactions_.find(transactional_id);
  if (found == transactions_.end() || !found->second.transaction.is_decided()) return {};
  Entry& entry = found->second;
  if (entry.transaction.partitions.empty()) return complete(transactional_id, now);
  entry.markers = ++last_turn_;
  environment_.effects.write_markers(
      missing_markers(environment_, transactional_id, entry.transaction, entry.markers));
  return {};
}

Decision TransactionShard::complete(const std::string& transactional_id, const Now& now) {
  TransactionTurn turn = begin(transactional_id, now);
  turn.write(completed(*turn.transaction(), now.wall));
  release_held(turn);
  Decision decision = finish(std::move(turn));
  decision.refused = [this, transactional_id, now](ErrorCode) { carry_on_later(transactional_id, now); };
  return decision;
}

}  // namespace barnabas::coordinator
