#pragma once

#include "broker/call.h"
#include "protocol/messages/create_delegation_token_request.h"
#include "protocol/messages/describe_delegation_token_request.h"
#include "protocol/messages/describe_delegation_token_response.h"
#include "protocol/messages/expire_delegation_token_request.h"
#include "protocol/messages/renew_delegation_token_request.h"

/// Delegation tokens (KIP-48, KIP-373): a client that has authenticated gets a secret with which others act
/// for it for a time. They are for those only whom the broker knows: not on PLAINTEXT, not for the anonymous,
/// and not for those who came by a token themselves.
namespace barnabas::broker {

/// CreateDelegationToken (38), v1–v3; from v3 on also for another owner.
struct CreateDelegationTokenHandler {
  using Request = protocol::CreateDelegationTokenRequest;
  static void handle(Call call, Request request);
};

/// RenewDelegationToken (39), v1–v2.
struct RenewDelegationTokenHandler {
  using Request = protocol::RenewDelegationTokenRequest;
  static void handle(Call call, Request request);
};

/// ExpireDelegationToken (40), v1–v2.
struct ExpireDelegationTokenHandler {
  using Request = protocol::ExpireDelegationTokenRequest;
  static void handle(Call call, Request request);
};

/// DescribeDelegationToken (41), v1–v3: with their secrets, so to owners, renewers, who
/// asked for them, and who is allowed to.
struct DescribeDelegationTokenHandler {
  using Request = protocol::DescribeDelegationTokenRequest;
  static protocol::DescribeDelegationTokenResponse handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
