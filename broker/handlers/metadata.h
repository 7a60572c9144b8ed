#pragma once

#include "broker/call.h"
#include "protocol/messages/metadata_request.h"

namespace barnabas::broker {

/// Metadata (3), v0–v13.
///  - v0: an empty list is all topics; from v1 null is all and an empty list none.
///  - Unknown topics are made when both the request (always below v4) and auto.create.topics.enable say so;
///  the answer
///    waits for them and so never says leader_not_available. By id (v12) nothing is ever made.
///  - Known topics come first, each once, then those with an error, as in Kafka.
///  - Addresses are those of the listener on which the request came.
struct MetadataHandler {
  using Request = protocol::MetadataRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
