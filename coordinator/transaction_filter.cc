#include "coordinator/transaction_filter.h"

#include <algorithm>
#include <unordered_set>

#include "coordinator/consumer_regex.h"

namespace barnabas::coordinator {
namespace {

uint32_t bit_of(TransactionState state) {
  return uint32_t{1} << static_cast<unsigned>(state);
}

}  // namespace

TransactionFilter::TransactionFilter(const protocol::ListTransactionsRequest& request)
    : by_state_(!request.state_filters.empty()),
      by_producer_(!request.producer_id_filters.empty()),
      duration_ms_(request.duration_filter),
      producer_ids_(request.producer_id_filters) {
  std::unordered_set<std::string_view> unknown;
  for (const std::string_view name : request.state_filters) {
    if (const auto state = transaction_state_of(name))
      states_ |= bit_of(*state);
    else if (unknown.insert(name).second)
      unknown_states_.push_back(name);
  }
  std::ranges::sort(producer_ids_);
}

std::expected<TransactionFilter, protocol::ErrorCode> TransactionFilter::of(
    const protocol::ListTransactionsRequest& request) {
  TransactionFilter filter(request);
  if (!request.transactional_id_pattern || request.transactional_id_pattern->empty()) return filter;
  auto matcher = matcher_of(*request.transactional_id_pattern);
  if (!matcher) return std::unexpected(protocol::ErrorCode::invalid_regular_expression);
  filter.matches_ = std::move(*matcher);
  return filter;
}

bool TransactionFilter::lets_through(std::string_view transactional_id, const Transaction& transaction,
                                     TimestampMs now) const {
  if (by_producer_ && !std::ranges::binary_search(producer_ids_, transaction.producer_id.value()))
    return false;
  if (by_state_ && (states_ & bit_of(transaction.state)) == 0) return false;
  if (duration_ms_ >= 0 && now.value() - transaction.started_at.value() <= duration_ms_) return false;
  return !matches_ || matches_(transactional_id);
}

}  // namespace barnabas::coordinator
