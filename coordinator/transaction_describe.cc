#include <vector>

#include "coordinator/transaction_shard.h"

/// DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152).
namespace barnabas::coordinator {

using protocol::ErrorCode;

Decision TransactionShard::describe(
    std::string_view transactional_id,
    Reply<protocol::DescribeTransactionsResponse::TransactionState> reply) const {
  protocol::DescribeTransactionsResponse::TransactionState described;
  described.transactional_id = protocol::String(transactional_id);
  const auto refused = [&](ErrorCode error) {
    described.error_code = static_cast<int16_t>(error);
    return Decision::answer(reply.with(std::move(described)));
  };
  if (transactional_id.empty()) return refused(ErrorCode::invalid_request);
  const auto found = transactions_.find(transactional_id);
  if (found == transactions_.end()) return refused(ErrorCode::transactional_id_not_found);
  const Transaction& transaction = found->second.transaction;
  described.transaction_state = protocol::String::view_of(name_of(transaction.state));
  described.transaction_timeout_ms = transaction.timeout_ms;
  described.transaction_start_time_ms = transaction.started_at.value();
  described.producer_id = transaction.producer_id.value();
  described.producer_epoch = transaction.producer_epoch.value();
  for (const auto& [topic, partitions] : transaction.partitions) {
    auto& of_topic = described.topics.emplace_back();
    of_topic.topic = protocol::String(topic);
    of_topic.partitions = partitions;
  }
  return Decision::answer(reply.with(std::move(described)));
}

Decision TransactionShard::list(
    const RequestContext& context, const TransactionFilter& filter,
    Reply<std::vector<protocol::ListTransactionsResponse::TransactionState>> reply) const {
  std::vector<protocol::ListTransactionsResponse::TransactionState> listed;
  for (const auto& [transactional_id, entry] : transactions_) {
    if (!filter.lets_through(transactional_id, entry.transaction, context.now.wall)) continue;
    auto& one = listed.emplace_back();
    one.transactional_id = protocol::String(transactional_id);
    one.producer_id = entry.transaction.producer_id.value();
    one.transaction_state = protocol::String::view_of(name_of(entry.transaction.state));
  }
  return Decision::answer(reply.with(std::move(listed)));
}

}  // namespace barnabas::coordinator
