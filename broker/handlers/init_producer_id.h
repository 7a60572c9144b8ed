#pragma once

#include "broker/call.h"
#include "protocol/messages/init_producer_id_request.h"

namespace barnabas::broker {

/// InitProducerId (22), v0–v5: for idempotent producers a new id with epoch 0 (KIP-98, KIP-360); for
/// transactional ids the coordinator's answer, which fences all older producers of the id.
struct InitProducerIdHandler {
  using Request = protocol::InitProducerIdRequest;
  /// Version 6 (two-phase commit) is unstable in Kafka 4.4 and not offered.
  static constexpr int16_t max_version = 5;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
