#pragma once

#include "broker/call.h"
#include "protocol/messages/list_groups_request.h"

namespace barnabas::broker {

/// ListGroups (16), v0–v5: the groups that this broker coordinates. Filters for states came with v4
/// (KIP-518), for types with v5 (KIP-848); neither minds the case, or blanks around
/// a name. An error when some are still being loaded.
struct ListGroupsHandler {
  using Request = protocol::ListGroupsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
