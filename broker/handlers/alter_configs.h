#pragma once

#include "broker/call.h"
#include "protocol/messages/alter_configs_request.h"

namespace barnabas::broker {

/// AlterConfigs (33), v0–v2: the older way, which replaces everything that is set on a topic (2), broker (4),
/// client metrics subscription (16) or group (32) by what it names. Otherwise as IncrementalAlterConfigs,
/// without loggers.
struct AlterConfigsHandler {
  using Request = protocol::AlterConfigsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
