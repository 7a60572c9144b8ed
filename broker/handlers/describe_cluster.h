#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_cluster_request.h"
#include "protocol/messages/describe_cluster_response.h"

namespace barnabas::broker {

/// DescribeCluster (60), v0–v2. Brokers with the addresses of the request's listener.
///  - v1: a request for controllers' endpoints is a mismatched_endpoint_type on a broker's listener.
///  - v2: with include_fenced_brokers, fenced brokers are named, too.
struct DescribeClusterHandler {
  using Request = protocol::DescribeClusterRequest;
  static Request::Response handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
