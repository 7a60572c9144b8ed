#include "broker/handlers/describe_transactions.h"

#include "broker/handlers/coordinate.h"
#include "protocol/messages/describe_transactions_response.h"

namespace barnabas::broker {

using coordinator::TransactionShard;
using protocol::DescribeTransactionsResponse;

void DescribeTransactionsHandler::handle(Call call, Request request) {
  using Described = DescribeTransactionsResponse::TransactionState;
  const std::vector<std::string_view> ids(request.transactional_ids.begin(), request.transactional_ids.end());
  const Rights rights = call.rights();
  coordinate_each<Described, TransactionShard>(
      std::move(call), std::move(request), ids,
      [](TransactionShard& shard, const coordinator::RequestContext&, const Request& asked, std::size_t i,
         coordinator::Reply<Described> reply) {
        return shard.describe(asked.transactional_ids[i], std::move(reply));
      },
      [](const Request& asked, std::size_t i, protocol::ErrorCode error) {
        auto failed = error_response<Described>(error);
        failed.transactional_id = protocol::String::view_of(asked.transactional_ids[i]);
        return failed;
      },
      [rights](const Request&, std::vector<Described>&& described) {
        for (Described& transaction : described)
          std::erase_if(transaction.topics, [&](const auto& topic) {
            return !rights.may(Right::describe_transaction_topic, topic.topic);
          });
        DescribeTransactionsResponse response;
        response.transaction_states = std::move(described);
        return response;
      },
      EmptyGroupId::allowed, refused_keys(rights, Right::describe_transaction, ids));
}

}  // namespace barnabas::broker
