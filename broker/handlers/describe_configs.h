#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_configs_request.h"
#include "protocol/messages/describe_configs_response.h"

namespace barnabas::broker {

/// DescribeConfigs (32), v1–v4, for topics (2) and brokers (4).
///  - No keys, or null: all of them. Unknown keys are left out.
///  - Broker "" shows the dynamic defaults of all brokers only; another id than our own is invalid_request.
///  - Passwords are never shown.
///  - Groups (32) and client metrics (16) show their defaults, with the broker-level names that were set for
///  groups.
///  - Not implemented: broker loggers (8), which are answered with invalid_request.
struct DescribeConfigsHandler {
  using Request = protocol::DescribeConfigsRequest;
  static Request::Response handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
