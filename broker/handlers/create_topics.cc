#include "broker/handlers/create_topics.h"

#include "protocol/messages/create_topics_response.h"

namespace barnabas::broker {

void CreateTopicsHandler::handle(Call call, Request request) {
  cluster::ControllerGateway& controller = call.services().controller;
  // The request borrows from the frame, which the callback keeps.
  controller.create_topics(std::move(request),
                           [call = std::move(call)](const protocol::CreateTopicsResponse& response) mutable {
                             call.reply(response);
                           });
}

}  // namespace barnabas::broker
