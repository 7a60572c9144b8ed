#include "broker/handlers/init_producer_id.h"

#include "broker/handlers/coordinate.h"
#include "broker/producer_ids.h"
#include "protocol/messages/init_producer_id_response.h"

namespace barnabas::broker {
namespace {

using coordinator::TransactionShard;
using protocol::ErrorCode;
using protocol::InitProducerIdResponse;

InitProducerIdResponse failed(ErrorCode error) {
  auto response = error_response<InitProducerIdResponse>(error);
  response.producer_epoch = no_producer_epoch.value();
  return response;
}

void answer_idempotent(Call call) {
  ProducerIds& ids = call.services().producer_ids;
  ids.next([call = std::move(call)](ProducerId id, ErrorCode error) mutable {
    if (error != ErrorCode::none) return call.reply(failed(error));
    InitProducerIdResponse response;
    response.producer_id = id.value();
    call.reply(response);
  });
}

}  // namespace

void InitProducerIdHandler::handle(Call call, Request request) {
  const Rights rights = call.rights();
  if (request.transactional_id) {
    if (!rights.may(Right::init_producer_transactional_id, *request.transactional_id))
      return call.reply(failed(ErrorCode::transactional_id_authorization_failed));
  } else if (!rights.may(Right::init_producer_idempotent) &&
             !rights.may_on_some(Right::init_producer_some_topic)) {
    return call.reply(failed(ErrorCode::cluster_authorization_failed));
  }
  if ((request.producer_id == -1) != (request.producer_epoch == -1))
    return call.reply(failed(ErrorCode::invalid_request));
  if (!request.transactional_id) return answer_idempotent(std::move(call));
  if (request.transactional_id->empty()) return call.reply(failed(ErrorCode::invalid_request));
  const std::string_view id = *request.transactional_id;
  coordinate<TransactionShard>(std::move(call), std::move(request), id, &TransactionShard::init_producer_id,
                               [](const Request&, ErrorCode error) { return failed(error); });
}

}  // namespace barnabas::broker
