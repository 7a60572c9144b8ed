#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_configs_request.h"
#include "protocol/messages/describe_configs_response.h"

namespace barnabas::broker {

/// DescribeConfigs (32), v1–v4, for topics (2), brokers (4), loggers (8), client metrics (16), groups (32).
///  - No keys, or null: all of them. Unknown keys are left out.
///  - Broker "" shows the dynamic defaults of all brokers only; another id than our own is invalid_request.
///  - Passwords are never shown.
///  - Settings under names that no table has are shown without their values, which may be secrets.
///  - Groups (32) and client metrics (16) show what was set on them, and their defaults.
///  - Loggers (8) show the levels in force.
struct DescribeConfigsHandler {
  using Request = protocol::DescribeConfigsRequest;
  static Request::Response handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
