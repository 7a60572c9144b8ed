#include "broker/handlers/delegation_tokens.h"

#include <algorithm>

#include "cluster/delegation_token_requests.h"
#include "protocol/error_code.h"
#include "security/delegation_token.h"

namespace barnabas::broker {

using protocol::ErrorCode;
using security::Principal;

namespace {

bool may_ask_for_tokens(const network::ConnectionContext& connection) {
  using security::SecurityProtocol;
  if (connection.principal.token_authenticated) return false;
  if (connection.security_protocol == SecurityProtocol::plaintext) return false;
  return connection.security_protocol != SecurityProtocol::ssl || connection.principal != Principal{};
}

/// Who asked for a token is told from version 3 on.
template <class Token>
void leave_out_requester(Token& token, int16_t version) {
  if (version >= 3) return;
  token.token_requester_principal_type = {};
  token.token_requester_principal_name = {};
}
void adapt(protocol::CreateDelegationTokenResponse& response, int16_t version) {
  leave_out_requester(response, version);
}
void adapt(protocol::RenewDelegationTokenResponse&, int16_t) {}
void adapt(protocol::ExpireDelegationTokenResponse&, int16_t) {}

template <class Response>
void answer(Call& call, Response response) {
  adapt(response, call.version());
  call.reply(response);
}

/// Hands the request on with whom it came from, or refuses it with `code`.
template <class Request, class Response>
void ask_controller(Call call, Request request, ErrorCode code,
                    void (cluster::ControllerGateway::*method)(cluster::TokenRequest<Request>,
                                                               cluster::ControllerGateway::Done<Response>)) {
  cluster::TokenRequest<Request> with_requester{std::move(request), call.connection().principal};
  if (code != ErrorCode::none) return answer(call, cluster::error_response(with_requester, code));
  cluster::ControllerGateway& controller = call.services().controller;
  (controller.*method)(std::move(with_requester), [call = std::move(call)](Response response) mutable {
    answer(call, std::move(response));
  });
}

template <class Request, class Response>
void ask_controller(Call call, Request request,
                    void (cluster::ControllerGateway::*method)(cluster::TokenRequest<Request>,
                                                               cluster::ControllerGateway::Done<Response>)) {
  const bool allowed = may_ask_for_tokens(call.connection());
  ask_controller(std::move(call), std::move(request),
                 allowed ? ErrorCode::none : ErrorCode::delegation_token_request_not_allowed, method);
}

template <class Item>
void add_principal(std::vector<Item>& into, std::string_view text) {
  const auto principal = security::parse_principal(text);
  auto& item = into.emplace_back();
  item.principal_type = principal ? principal->type : std::string();
  item.principal_name = principal ? principal->name : std::string(text);
}

void describe(const metadata::DelegationToken& token, const std::string& secret_key,
              protocol::DescribeDelegationTokenResponse& response) {
  auto& item = response.tokens.emplace_back();
  const Principal owner = security::parse_principal(token.owner).value_or(Principal{"", token.owner});
  const Principal requester =
      security::parse_principal(token.requester).value_or(Principal{"", token.requester});
  item.principal_type = owner.type;
  item.principal_name = owner.name;
  item.token_requester_principal_type = requester.type;
  item.token_requester_principal_name = requester.name;
  item.issue_timestamp = token.issued.value();
  item.expiry_timestamp = token.expires.value();
  item.max_timestamp = token.expires_at_last.value();
  item.token_id = token.id;
  item.hmac = protocol::Bytes(security::delegation_token_hmac(token.id, secret_key));
  for (const std::string& renewer : token.renewers) add_principal(item.renewers, renewer);
}

/// Whether the sender may have the token made: for itself, or for an owner whose tokens it may create
/// (KIP-373).
bool may_own(const Call& call, const protocol::CreateDelegationTokenRequest& request) {
  if (!request.owner_principal_name || request.owner_principal_name->empty()) return true;
  const Principal owner{request.owner_principal_type ? request.owner_principal_type->str() : std::string(),
                        request.owner_principal_name->str()};
  return owner == call.connection().principal || call.rights().may(Right::create_token, owner.to_string());
}

/// Whether the sender may know of the token: its owner, its renewers, who asked for it, and who may describe
/// it or its owner's.
bool may_know(const metadata::DelegationToken& token, const Principal& sender, const Rights& rights) {
  return security::may_look_at(token, sender) || rights.may(Right::describe_token, token.id) ||
         rights.may(Right::describe_tokens_of_user, token.owner);
}

/// Whether the request asks for the token; it asks for all when it names no owners.
bool asked_for(const protocol::DescribeDelegationTokenRequest& request,
               const metadata::DelegationToken& token) {
  if (!request.owners) return true;
  return std::ranges::any_of(*request.owners, [&](const auto& owner) {
    return security::may_look_at(token, Principal{owner.principal_type.str(), owner.principal_name.str()});
  });
}

}  // namespace

void CreateDelegationTokenHandler::handle(Call call, Request request) {
  ErrorCode code = ErrorCode::none;
  if (!may_ask_for_tokens(call.connection())) {
    code = ErrorCode::delegation_token_request_not_allowed;
  } else if (!may_own(call, request)) {
    code = ErrorCode::delegation_token_authorization_failed;
  } else if (std::ranges::any_of(request.renewers,
                                 [](const auto& renewer) { return renewer.principal_type != "User"; })) {
    code = ErrorCode::invalid_principal_type;
  }
  ask_controller(std::move(call), std::move(request), code,
                 &cluster::ControllerGateway::create_delegation_token);
}

void RenewDelegationTokenHandler::handle(Call call, Request request) {
  ask_controller(std::move(call), std::move(request), &cluster::ControllerGateway::renew_delegation_token);
}

void ExpireDelegationTokenHandler::handle(Call call, Request request) {
  ask_controller(std::move(call), std::move(request), &cluster::ControllerGateway::expire_delegation_token);
}

protocol::DescribeDelegationTokenResponse DescribeDelegationTokenHandler::handle(Call& call,
                                                                                 const Request& request) {
  protocol::DescribeDelegationTokenResponse response;
  const std::string secret_key = call.services().config.text("delegation.token.secret.key");
  if (!may_ask_for_tokens(call.connection())) {
    response.error_code = to_wire(ErrorCode::delegation_token_request_not_allowed);
  } else if (secret_key.empty()) {
    response.error_code = to_wire(ErrorCode::delegation_token_auth_disabled);
  } else {
    const auto image = call.services().metadata.current();
    const Rights rights = call.rights();
    for (const auto& token : image->delegation_tokens)
      if (asked_for(request, *token) && may_know(*token, call.connection().principal, rights))
        describe(*token, secret_key, response);
    for (auto& token : response.tokens) leave_out_requester(token, call.version());
  }
  return response;
}

}  // namespace barnabas::broker
