#pragma once

#include "broker/call.h"
#include "protocol/messages/delete_topics_request.h"

namespace barnabas::broker {

/// DeleteTopics (20), v1–v6. Decided by the controller; the directories are renamed when the answer leaves,
/// and removed after file.delete.delay.ms.
///  - delete.topic.enable=false: topic_deletion_disabled (v3+), invalid_request before.
struct DeleteTopicsHandler {
  using Request = protocol::DeleteTopicsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
