#include "broker/handlers/end_txn.h"

#include "broker/handlers/coordinate.h"
#include "protocol/messages/end_txn_response.h"

namespace barnabas::broker {

void EndTxnHandler::handle(Call call, Request request) {
  using Response = protocol::EndTxnResponse;
  const std::string_view id = request.transactional_id;
  if (!call.rights().may(Right::end_transaction, id))
    return call.reply(error_response<Response>(protocol::ErrorCode::transactional_id_authorization_failed));
  coordinate<coordinator::TransactionShard>(
      std::move(call), std::move(request), id, &coordinator::TransactionShard::end_txn,
      [](const Request&, protocol::ErrorCode error) { return error_response<Response>(error); });
}

}  // namespace barnabas::broker
