#include "broker/handlers/list_transactions.h"

#include <algorithm>
#include <iterator>

#include "broker/handlers/coordinate.h"
#include "coordinator/transaction.h"
#include "protocol/messages/list_transactions_response.h"

namespace barnabas::broker {
namespace {

using coordinator::TransactionShard;
using protocol::ErrorCode;
using protocol::ListTransactionsRequest;
using protocol::ListTransactionsResponse;
using Listed = std::vector<ListTransactionsResponse::TransactionState>;

std::vector<protocol::String> unknown_states(const ListTransactionsRequest& request) {
  std::vector<protocol::String> unknown;
  for (const protocol::String& state : request.state_filters)
    if (!coordinator::transaction_state_of(state) && std::ranges::find(unknown, state) == unknown.end())
      unknown.push_back(protocol::String::view_of(state));
  return unknown;
}

ListTransactionsResponse join(const ListTransactionsRequest& request,
                              std::vector<std::expected<Listed, ErrorCode>>&& shards) {
  ListTransactionsResponse response;
  for (auto& listed : shards) {
    if (!listed && listed.error() != ErrorCode::not_coordinator)
      return error_response<ListTransactionsResponse>(listed.error());
    if (listed) std::ranges::move(*listed, std::back_inserter(response.transaction_states));
  }
  response.unknown_state_filters = unknown_states(request);
  return response;
}

}  // namespace

void ListTransactionsHandler::handle(Call call, Request request) {
  coordinate_all<Listed, TransactionShard>(
      std::move(call), std::move(request),
      [](TransactionShard& shard, const coordinator::RequestContext& context, const Request& asked,
         coordinator::Reply<Listed> reply) { return shard.list(context, asked, std::move(reply)); },
      [](const Request& asked, auto&& listed) { return join(asked, std::move(listed)); });
}

}  // namespace barnabas::broker
