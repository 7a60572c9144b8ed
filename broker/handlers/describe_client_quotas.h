#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_client_quotas_request.h"
#include "protocol/messages/describe_client_quotas_response.h"

namespace barnabas::broker {

/// DescribeClientQuotas (48), v0–v1 (KIP-546): the entities whose types and names are asked for; strictly:
/// that have no other type besides.
struct DescribeClientQuotasHandler {
  using Request = protocol::DescribeClientQuotasRequest;
  static Request::Response handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
