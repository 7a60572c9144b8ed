#pragma once

#include "broker/call.h"
#include "protocol/messages/get_telemetry_subscriptions_request.h"
#include "protocol/messages/get_telemetry_subscriptions_response.h"
#include "protocol/messages/push_telemetry_request.h"
#include "protocol/messages/push_telemetry_response.h"

namespace barnabas::broker {

/// GetTelemetrySubscriptions (71), v0 (KIP-714): which of its metrics a client is to push, how often and how.
/// As in Kafka nobody needs a right for it.
struct GetTelemetrySubscriptionsHandler {
  using Request = protocol::GetTelemetrySubscriptionsRequest;
  static Request::Response handle(Call& call, const Request& request);
};

/// PushTelemetry (72), v0: takes what a client pushes; ClientTelemetry has the rules.
struct PushTelemetryHandler {
  using Request = protocol::PushTelemetryRequest;
  static Request::Response handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
