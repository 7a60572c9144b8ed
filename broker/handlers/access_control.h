#pragma once

#include "broker/call.h"
#include "protocol/messages/create_acls_request.h"
#include "protocol/messages/create_acls_response.h"
#include "protocol/messages/delete_acls_request.h"
#include "protocol/messages/delete_acls_response.h"
#include "protocol/messages/describe_acls_request.h"
#include "protocol/messages/describe_acls_response.h"

/// Access control entries. Without an authorizer there are none to speak of: SECURITY_DISABLED, as in Kafka.
/// A request with a kind 0 (unknown) anywhere is malformed.
namespace barnabas::broker {

/// DescribeAcls (29), v1–v3. Resources that have entries, sorted; each entry once.
struct DescribeAclsHandler {
  using Request = protocol::DescribeAclsRequest;
  static void handle(Call call, Request request);
};

/// CreateAcls (30), v1–v3. Entries that are there already are no error.
struct CreateAclsHandler {
  using Request = protocol::CreateAclsRequest;
  static void handle(Call call, Request request);
};

/// DeleteAcls (31), v1–v3. What several filters match goes once and is answered to each.
struct DeleteAclsHandler {
  using Request = protocol::DeleteAclsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
