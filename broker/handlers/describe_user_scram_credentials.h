#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_user_scram_credentials_request.h"
#include "protocol/messages/describe_user_scram_credentials_response.h"

namespace barnabas::broker {

/// DescribeUserScramCredentials (50), v0 (KIP-554): mechanisms and iterations, never keys. Without names, or
/// with none, all users; a name that stands there twice is an error of that name.
struct DescribeUserScramCredentialsHandler {
  using Request = protocol::DescribeUserScramCredentialsRequest;
  static protocol::DescribeUserScramCredentialsResponse handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
