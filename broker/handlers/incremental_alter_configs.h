#pragma once

#include "broker/call.h"
#include "protocol/messages/incremental_alter_configs_request.h"

namespace barnabas::broker {

/// IncrementalAlterConfigs (44), v0–v1: sets, deletes, appends to and subtracts from settings of topics (2),
/// brokers (4), client metrics (16) and groups (32), and levels of loggers (8).
///  - Levels are changed here and gone with the process. Brokers' settings are checked here, since the
///  controller cannot
///    know what a broker can live with. The rest is the controller's.
///  - Each resource is changed as a whole or not at all. validate_only: none is.
///  - Answered when the change is on disk and in force.
struct IncrementalAlterConfigsHandler {
  using Request = protocol::IncrementalAlterConfigsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
