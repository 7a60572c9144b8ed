#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "coordinator/transaction.h"
#include "protocol/error_code.h"
#include "protocol/messages/list_transactions_request.h"

namespace barnabas::coordinator {

/// Which transactions a ListTransactions asks for (KIP-664, KIP-994, KIP-1152): made once, for all shards;
/// they may use it at the same time.
class TransactionFilter {
 public:
  /// invalid_regular_expression: its pattern is none. May take as long as check_regex. The request must
  /// outlive unknown_states() only.
  static std::expected<TransactionFilter, protocol::ErrorCode> of(
      const protocol::ListTransactionsRequest& request);

  bool lets_through(std::string_view transactional_id, const Transaction& transaction, TimestampMs now) const;
  /// Names that are none of a state, each once, as they came. They match nothing.
  const std::vector<std::string_view>& unknown_states() const { return unknown_states_; }

 private:
  explicit TransactionFilter(const protocol::ListTransactionsRequest& request);

  bool by_state_;
  bool by_producer_;
  int64_t duration_ms_;
  uint32_t states_ = 0;                ///< a bit for each
  std::vector<int64_t> producer_ids_;  ///< sorted
  std::vector<std::string_view> unknown_states_;
  std::function<bool(std::string_view)> matches_;  ///< none: all
};

}  // namespace barnabas::coordinator
