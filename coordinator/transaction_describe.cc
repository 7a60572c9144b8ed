#include <algorithm>
#include <functional>
#include <vector>

#include "coordinator/consumer_regex.h"
#include "coordinator/transaction_shard.h"

/// DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152).
namespace barnabas::coordinator {

using protocol::ErrorCode;
using protocol::ListTransactionsRequest;

namespace {

class Filter {
 public:
  Filter(const ListTransactionsRequest& request, TimestampMs now)
      : producer_ids_(request.producer_id_filters),
        by_state_(!request.state_filters.empty()),
        duration_ms_(request.duration_filter),
        now_(now) {
    for (const auto& name : request.state_filters)
      if (const auto state = transaction_state_of(name)) states_.push_back(*state);
    if (!request.transactional_id_pattern || request.transactional_id_pattern->empty()) return;
    is_valid_ = check_regex(*request.transactional_id_pattern).has_value();
    if (is_valid_) matches_ = matcher_of(*request.transactional_id_pattern);
  }

  bool is_valid() const { return is_valid_; }

  bool lets_through(std::string_view transactional_id, const Transaction& transaction) const {
    if (!producer_ids_.empty() &&
        std::ranges::find(producer_ids_, transaction.producer_id.value()) == producer_ids_.end())
      return false;
    if (by_state_ && std::ranges::find(states_, transaction.state) == states_.end()) return false;
    if (duration_ms_ >= 0 && now_.value() - transaction.started_at.value() <= duration_ms_) return false;
    return !matches_ || matches_(transactional_id);
  }

 private:
  const std::vector<int64_t>& producer_ids_;
  bool by_state_;
  std::vector<TransactionState> states_;
  int64_t duration_ms_;
  TimestampMs now_;
  bool is_valid_ = true;
  std::function<bool(std::string_view)> matches_;
};

}  // namespace

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
    const RequestContext& context, const ListTransactionsRequest& request,
    Reply<std::vector<protocol::ListTransactionsResponse::TransactionState>> reply) const {
  const Filter filter(request, context.now.wall);
  if (!filter.is_valid()) return Decision::answer(reply.with_error(ErrorCode::invalid_regular_expression));
  std::vector<protocol::ListTransactionsResponse::TransactionState> listed;
  for (const auto& [transactional_id, entry] : transactions_) {
    if (!filter.lets_through(transactional_id, entry.transaction)) continue;
    auto& one = listed.emplace_back();
    one.transactional_id = protocol::String(transactional_id);
    one.producer_id = entry.transaction.producer_id.value();
    one.transaction_state = protocol::String::view_of(name_of(entry.transaction.state));
  }
  return Decision::answer(reply.with(std::move(listed)));
}

}  // namespace barnabas::coordinator
