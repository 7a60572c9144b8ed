#include "broker/handlers/list_transactions.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "broker/handlers/coordinate.h"
#include "coordinator/transaction_filter.h"
#include "protocol/messages/list_transactions_response.h"

namespace barnabas::broker {
namespace {

using coordinator::TransactionFilter;
using coordinator::TransactionShard;
using protocol::ErrorCode;
using protocol::ListTransactionsResponse;
using Listed = std::vector<ListTransactionsResponse::TransactionState>;

using Shards = std::vector<std::expected<Listed, ErrorCode>>;

ListTransactionsResponse join(const TransactionFilter& filter, const Rights& rights, Shards&& shards) {
  ListTransactionsResponse response;
  for (auto& listed : shards) {
    if (!listed && listed.error() != ErrorCode::not_coordinator)
      return error_response<ListTransactionsResponse>(listed.error());
    if (listed) std::ranges::move(*listed, std::back_inserter(response.transaction_states));
  }
  std::erase_if(response.transaction_states, [&](const auto& transaction) {
    return !rights.may(Right::list_transaction, transaction.transactional_id);
  });
  for (const std::string_view state : filter.unknown_states())
    response.unknown_state_filters.push_back(protocol::String::view_of(state));
  return response;
}

}  // namespace

void ListTransactionsHandler::handle(Call call, Request request) {
  auto wanted = TransactionFilter::of(request);
  if (!wanted) return call.reply(error_response<ListTransactionsResponse>(wanted.error()));
  const auto filter = std::make_shared<const TransactionFilter>(std::move(*wanted));
  const Rights rights = call.rights();
  coordinate_all<Listed, TransactionShard>(
      std::move(call), std::move(request),
      [filter](TransactionShard& shard, const coordinator::RequestContext& context, const Request&,
               coordinator::Reply<Listed> reply) { return shard.list(context, *filter, std::move(reply)); },
      [filter, rights](const Request&, Shards&& listed) { return join(*filter, rights, std::move(listed)); });
}

}  // namespace barnabas::broker
