#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_groups_request.h"

namespace barnabas::broker {

/// DescribeGroups (15), v0–v6: classic groups with their members, in the order of the request. Authorized
/// operations came with v3 (KIP-430). What is no classic group is a dead one without an error before v6, and
/// then group_id_not_found (KIP-1043).
struct DescribeGroupsHandler {
  using Request = protocol::DescribeGroupsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
