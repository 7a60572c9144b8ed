#include "broker/handlers/create_partitions.h"

#include "protocol/messages/create_partitions_response.h"

namespace barnabas::broker {

void CreatePartitionsHandler::handle(Call call, Request request) {
  cluster::ControllerGateway& controller = call.services().controller;
  // The request borrows from the frame, which the callback keeps.
  controller.create_partitions(
      std::move(request),
      [call = std::move(call)](const protocol::CreatePartitionsResponse& response) mutable {
        call.reply(response);
      });
}

}  // namespace barnabas::broker
