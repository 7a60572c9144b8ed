#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_producers_request.h"
#include "protocol/messages/describe_producers_response.h"

namespace barnabas::broker {

/// DescribeProducers (61), v0 (KIP-664). The producers that the partitions know, with what they sent last.
struct DescribeProducersHandler {
  using Request = protocol::DescribeProducersRequest;
  static Request::Response handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
