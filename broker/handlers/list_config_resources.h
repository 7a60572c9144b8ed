#pragma once

#include "broker/call.h"
#include "protocol/messages/list_config_resources_request.h"
#include "protocol/messages/list_config_resources_response.h"

namespace barnabas::broker {

/// ListConfigResources (74), v0–v1: what has settings. Groups and client metrics subscriptions that have
/// some, all brokers, their loggers, and all topics; v0, once ListClientMetricsResources, knows subscriptions
/// only. Types that no resource has are unsupported_version.
struct ListConfigResourcesHandler {
  using Request = protocol::ListConfigResourcesRequest;
  static Request::Response handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
