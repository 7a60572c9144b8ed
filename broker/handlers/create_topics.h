#pragma once

#include "broker/call.h"
#include "protocol/messages/create_topics_request.h"

namespace barnabas::broker {

/// CreateTopics (19), v2–v7. Decided by the controller; answered when the change is on disk and this broker
/// serves it.
struct CreateTopicsHandler {
  using Request = protocol::CreateTopicsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
