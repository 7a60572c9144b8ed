#include "broker/handlers/init_producer_id.h"

#include "broker/producer_ids.h"
#include "protocol/messages/init_producer_id_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;

void answer(Call& call, ErrorCode error, ProducerId id) {
  protocol::InitProducerIdResponse response;
  response.error_code = static_cast<int16_t>(error);
  response.producer_id = id.value();
  response.producer_epoch = error == ErrorCode::none ? 0 : -1;
  call.reply(response);
}

}  // namespace

void InitProducerIdHandler::handle(Call call, Request request) {
  if (request.transactional_id) {
    const bool empty = request.transactional_id->empty();
    return answer(call, empty ? ErrorCode::invalid_request : ErrorCode::coordinator_not_available,
                  no_producer_id);
  }
  if ((request.producer_id == -1) != (request.producer_epoch == -1))
    return answer(call, ErrorCode::invalid_request, no_producer_id);
  ProducerIds& ids = call.services().producer_ids;
  ids.next([call = std::move(call)](ProducerId id, ErrorCode error) mutable { answer(call, error, id); });
}

}  // namespace barnabas::broker
