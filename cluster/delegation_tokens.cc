// CreateDelegationToken (38), RenewDelegationToken (39) and ExpireDelegationToken (40), the controller's
// part: rules as Apache Kafka 4.4 has them (KIP-48, KIP-373).

#include <algorithm>
#include <expected>

#include "cluster/delegation_token_requests.h"
#include "cluster/local_controller.h"
#include "metadata/image_writer.h"
#include "metadata/record_versions.h"
#include "protocol/messages/remove_delegation_token_record.h"
#include "security/delegation_token.h"
#include "security/delegation_token_index.h"

namespace barnabas::cluster {

using metadata::DelegationToken;
using protocol::ErrorCode;
using protocol::to_wire;
using security::Principal;

namespace {

constexpr std::string_view user_type = "User";

/// None when tokens can be had, and what says that they cannot otherwise.
ErrorCode availability(const metadata::StaticConfig& config, const ControllerState& state) {
  if (config.text("delegation.token.secret.key").empty()) return ErrorCode::delegation_token_auth_disabled;
  if (!metadata::has_delegation_tokens(state.image.metadata_version())) return ErrorCode::unsupported_version;
  return ErrorCode::none;
}

/// Never beyond the end of time.
TimestampMs later(TimestampMs now, int64_t milliseconds) {
  constexpr int64_t never = std::numeric_limits<int64_t>::max();
  return TimestampMs(now.value() > never - milliseconds ? never : now.value() + milliseconds);
}

template <class Response>
Outcome<Response> refused(ErrorCode code) {
  Outcome<Response> outcome;
  outcome.response.error_code = to_wire(code);
  return outcome;
}

template <class Response>
void expire_at(Outcome<Response>& outcome, DelegationToken token, TimestampMs time) {
  token.expires = std::min(token.expires_at_last, time);
  outcome.response.expiry_timestamp_ms = token.expires.value();
  outcome.records.add(metadata::delegation_token_record(token));
}

void remove(metadata::RecordList& records, const DelegationToken& token) {
  protocol::RemoveDelegationTokenRecord record;
  record.token_id = token.id;
  records.add(record);
}

}  // namespace

Principal owner_of(const CreateDelegationToken& request) {
  const auto& name = request.request.owner_principal_name;
  if (!name || name->empty()) return request.requester;
  const auto& type = request.request.owner_principal_type;
  return {type ? type->str() : std::string(), name->str()};
}

LocalController::LocalController(LocalControllerOptions options)
    : options_(std::move(options)),
      token_index_(std::make_shared<security::DelegationTokenIndex>(
          [config = options_.static_config](std::string_view id) {
            return security::delegation_token_hmac(id, config->text("delegation.token.secret.key"));
          })) {}

std::expected<const DelegationToken*, ErrorCode> LocalController::token_asked_for(
    ByteView hmac, const ControllerState& state) const {
  if (const ErrorCode code = availability(*options_.static_config, state); code != ErrorCode::none)
    return std::unexpected(code);
  const auto* token = token_index_->find(hmac, state.image.delegation_tokens);
  if (token == nullptr) return std::unexpected(ErrorCode::delegation_token_not_found);
  return token;
}

Outcome<protocol::CreateDelegationTokenResponse> LocalController::create_delegation_token(
    const CreateDelegationToken& request, const ControllerState& state) const {
  Outcome<protocol::CreateDelegationTokenResponse> outcome;
  auto& response = outcome.response;
  const Principal owner = owner_of(request);
  response.principal_type = owner.type;
  response.principal_name = owner.name;
  response.token_requester_principal_type = request.requester.type;
  response.token_requester_principal_name = request.requester.name;
  const metadata::StaticConfig& config = *options_.static_config;
  const auto refuse = [&](ErrorCode code) {
    response.error_code = to_wire(code);
    return std::move(outcome);
  };
  if (const ErrorCode code = availability(config, state); code != ErrorCode::none) return refuse(code);

  DelegationToken token;
  for (const auto& renewer : request.request.renewers) {
    if (renewer.principal_type != user_type) return refuse(ErrorCode::invalid_principal_type);
    token.renewers.push_back(
        Principal{renewer.principal_type.str(), renewer.principal_name.str()}.to_string());
  }
  int64_t life = config.integer("delegation.token.max.lifetime.ms");
  if (request.request.max_lifetime_ms > 0) life = std::min(life, request.request.max_lifetime_ms);
  token.id = options_.new_id().to_string();
  token.owner = owner.to_string();
  token.requester = request.requester.to_string();
  token.issued = state.now;
  token.expires_at_last = later(state.now, life);
  token.expires =
      std::min(token.expires_at_last, later(state.now, config.integer("delegation.token.expiry.time.ms")));
  response.issue_timestamp_ms = token.issued.value();
  response.expiry_timestamp_ms = token.expires.value();
  response.max_timestamp_ms = token.expires_at_last.value();
  response.token_id = token.id;
  response.hmac =
      protocol::Bytes(security::delegation_token_hmac(token.id, config.text("delegation.token.secret.key")));
  outcome.records.add(metadata::delegation_token_record(token));
  return outcome;
}

Outcome<protocol::RenewDelegationTokenResponse> LocalController::renew_delegation_token(
    const RenewDelegationToken& request, const ControllerState& state) const {
  using Response = protocol::RenewDelegationTokenResponse;
  const metadata::StaticConfig& config = *options_.static_config;
  const auto token = token_asked_for(request.request.hmac.view(), state);
  if (!token) return refused<Response>(token.error());
  if ((*token)->expired(state.now)) return refused<Response>(ErrorCode::delegation_token_expired);
  if (!security::owns_or_renews(**token, request.requester))
    return refused<Response>(ErrorCode::delegation_token_owner_mismatch);
  int64_t period = config.integer("delegation.token.expiry.time.ms");
  if (request.request.renew_period_ms > 0) period = std::min(period, request.request.renew_period_ms);
  Outcome<Response> outcome;
  expire_at(outcome, **token, later(state.now, period));
  return outcome;
}

Outcome<protocol::ExpireDelegationTokenResponse> LocalController::expire_delegation_token(
    const ExpireDelegationToken& request, const ControllerState& state) const {
  using Response = protocol::ExpireDelegationTokenResponse;
  const auto token = token_asked_for(request.request.hmac.view(), state);
  if (!token) return refused<Response>(token.error());
  if (!security::owns_or_renews(**token, request.requester))
    return refused<Response>(ErrorCode::delegation_token_owner_mismatch);
  Outcome<Response> outcome;
  if (request.request.expiry_time_period_ms < 0) {
    outcome.response.expiry_timestamp_ms = state.now.value();
    remove(outcome.records, **token);
    return outcome;
  }
  if ((*token)->expired(state.now)) return refused<Response>(ErrorCode::delegation_token_expired);
  expire_at(outcome, **token, later(state.now, request.request.expiry_time_period_ms));
  return outcome;
}

Outcome<ExpiredTokensRemoved> LocalController::remove_expired_tokens(const RemoveExpiredTokens&,
                                                                     const ControllerState& state) const {
  // Tokens that are read as kept, with tokens turned off since, go too: nobody could use them.
  Outcome<ExpiredTokensRemoved> outcome;
  for (const auto& token : state.image.delegation_tokens)
    if (token->expired(state.now)) remove(outcome.records, *token);
  return outcome;
}

protocol::CreateDelegationTokenResponse error_response(const CreateDelegationToken& request, ErrorCode code) {
  protocol::CreateDelegationTokenResponse response;
  const Principal owner = owner_of(request);
  response.error_code = to_wire(code);
  response.principal_type = owner.type;
  response.principal_name = owner.name;
  response.token_requester_principal_type = request.requester.type;
  response.token_requester_principal_name = request.requester.name;
  response.issue_timestamp_ms = response.expiry_timestamp_ms = response.max_timestamp_ms = -1;
  return response;
}

protocol::RenewDelegationTokenResponse error_response(const RenewDelegationToken&, ErrorCode code) {
  protocol::RenewDelegationTokenResponse response;
  response.error_code = to_wire(code);
  response.expiry_timestamp_ms = -1;
  return response;
}

protocol::ExpireDelegationTokenResponse error_response(const ExpireDelegationToken&, ErrorCode code) {
  protocol::ExpireDelegationTokenResponse response;
  response.error_code = to_wire(code);
  response.expiry_timestamp_ms = -1;
  return response;
}

ExpiredTokensRemoved error_response(const RemoveExpiredTokens&, ErrorCode) {
  return {};
}

}  // namespace barnabas::cluster
