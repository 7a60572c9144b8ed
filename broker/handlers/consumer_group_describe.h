#pragma once

#include "broker/call.h"
#include "protocol/messages/consumer_group_describe_request.h"

namespace barnabas::broker {

/// ConsumerGroupDescribe (69), v0–v1: groups of the consumer protocol with their members, what those have and
/// what they are to have. v1 tells which members speak the classic protocol (KIP-1099).
struct ConsumerGroupDescribeHandler {
  using Request = protocol::ConsumerGroupDescribeRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
