#pragma once

#include "broker/call.h"
#include "protocol/messages/delete_groups_request.h"

namespace barnabas::broker {

/// DeleteGroups (42), v0–v3: groups without members, with all that they committed. A group that is named
/// twice is answered once.
struct DeleteGroupsHandler {
  using Request = protocol::DeleteGroupsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
