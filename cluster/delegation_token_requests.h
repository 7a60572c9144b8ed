#pragma once

#include <utility>

#include "cluster/api_error.h"
#include "protocol/messages/create_delegation_token_request.h"
#include "protocol/messages/create_delegation_token_response.h"
#include "protocol/messages/expire_delegation_token_request.h"
#include "protocol/messages/expire_delegation_token_response.h"
#include "protocol/messages/renew_delegation_token_request.h"
#include "protocol/messages/renew_delegation_token_response.h"
#include "security/principal.h"

namespace barnabas::cluster {

/// A request about a delegation token with whom it came from: that decides about it.
template <class Request>
struct TokenRequest {
  Request request;
  security::Principal requester;
};

using CreateDelegationToken = TokenRequest<protocol::CreateDelegationTokenRequest>;
using RenewDelegationToken = TokenRequest<protocol::RenewDelegationTokenRequest>;
using ExpireDelegationToken = TokenRequest<protocol::ExpireDelegationTokenRequest>;
/// Tokens whose time is over are to go; nobody asks for an answer.
struct RemoveExpiredTokens {};
struct ExpiredTokensRemoved {};

/// Whose token a request is to make: the one it names, else the requester.
security::Principal owner_of(const CreateDelegationToken& request);

protocol::CreateDelegationTokenResponse error_response(const CreateDelegationToken& request,
                                                       protocol::ErrorCode code);
protocol::RenewDelegationTokenResponse error_response(const RenewDelegationToken& request,
                                                      protocol::ErrorCode code);
protocol::ExpireDelegationTokenResponse error_response(const ExpireDelegationToken& request,
                                                       protocol::ErrorCode code);
ExpiredTokensRemoved error_response(const RemoveExpiredTokens& request, protocol::ErrorCode code);

}  // namespace barnabas::cluster
