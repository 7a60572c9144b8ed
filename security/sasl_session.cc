#include "security/sasl_session.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "protocol/api.h"
#include "protocol/error_code.h"
#include "protocol/messages/request_header.h"
#include "protocol/messages/sasl_authenticate_request.h"
#include "protocol/messages/sasl_authenticate_response.h"
#include "protocol/messages/sasl_handshake_request.h"
#include "protocol/messages/sasl_handshake_response.h"
#include "protocol/reader.h"
#include "protocol/writer.h"

namespace barnabas::security {

using protocol::ApiKey;
using protocol::ErrorCode;
using Action = SaslVerdict::Action;

namespace {

/// KIP-368: more often than this nobody may authenticate anew.
constexpr std::chrono::seconds renewal_interval_min{1};

template <class Response>
std::vector<std::byte> encoded(ApiKey api, int16_t version, int32_t correlation_id,
                               const Response& response) {
  protocol::Writer writer;
  writer.int32(correlation_id);
  if (protocol::api_info(api).response_header_version(version) >= 1) writer.uvarint(0);  // no tagged fields
  response.encode(writer, version);
  BARNABAS_ASSERT(writer.ok());  // it holds nothing that could be too long
  const ByteView frame = writer.bytes();
  return {frame.begin(), frame.end()};
}

std::string name_of(int16_t key) {
  const auto api = protocol::api_key(key);
  return api ? std::string(protocol::name(*api)) : "API key " + std::to_string(key);
}

}  // namespace

/// The header of a frame that ought to be a request.
struct SaslSession::Request {
  int16_t key = -1;
  int16_t version = -1;
  int32_t correlation_id = 0;

  /// Reads the header; `reader` stands behind it then. False if it is none.
  bool read(protocol::Reader& reader, ByteView frame) {
    protocol::Reader peek(frame);
    key = peek.int16();
    version = peek.int16();
    correlation_id = peek.int32();
    const auto api = protocol::api_key(key);
    if (!peek.ok() || !api) return false;
    return protocol::RequestHeader::decode(reader, protocol::api_info(*api).request_header_version(version))
        .has_value();
  }
  bool is(ApiKey api) const { return key == static_cast<int16_t>(api); }
  bool supported(ApiKey api) const { return is(api) && protocol::api_info(api).supports(version); }
};

const SaslListener::Mechanism* SaslListener::find(std::string_view name) const {
  const auto at = std::ranges::find(mechanisms, name, &Mechanism::name);
  return at == mechanisms.end() ? nullptr : &*at;
}

SaslVerdict SaslSession::receive(ByteView frame, Instant now) {
  if (state_ == State::established) return receive_established(frame, now);
  if (frame.size() > listener_.message_bytes_max)
    return refuse("a frame of " + std::to_string(frame.size()) +
                  " bytes before authentication, sasl.server.max.receive.size is " +
                  std::to_string(listener_.message_bytes_max));
  switch (state_) {
    case State::handshake_or_versions:
    case State::handshake:
      return receive_request(frame);
    case State::token:
      return receive_token(frame);
    case State::wrong_mechanism:
      return refuse("another mechanism than " + mechanism_->name + " upon re-authentication");
    case State::established:
    case State::over:
      break;
  }
  return refuse("a frame after a failed authentication");
}

SaslVerdict SaslSession::receive_established(ByteView frame, Instant now) {
  protocol::Reader peek(frame);
  const bool is_handshake = peek.int16() == static_cast<int16_t>(ApiKey::sasl_handshake) && peek.ok();
  const bool may_renew = expires_ && (!renewal_began_ || now - *renewal_began_ >= renewal_interval_min);
  if (is_handshake && may_renew) {
    renewal_began_ = now;
    state_ = State::handshake;
    return receive_request(frame);
  }
  if (expires_ && now > *expires_) {
    auto verdict = refuse("session of " + log_text(principal_.to_string(), 200) +
                          " expired (connections.max.reauth.ms, or the token's life)");
    verdict.delayed = false;
    return verdict;
  }
  return {.action = Action::hand_on};
}

SaslVerdict SaslSession::receive_request(ByteView frame) {
  protocol::Reader reader(frame);
  Request request;
  if (!request.read(reader, frame)) return refuse("no Kafka request, expected SaslHandshake");
  if (request.is(ApiKey::api_versions)) {
    if (state_ != State::handshake_or_versions || established_)
      return refuse("ApiVersions where SaslHandshake was expected");
    return {.action = Action::hand_on};
  }
  if (!request.is(ApiKey::sasl_handshake))
    return refuse("unexpected " + name_of(request.key) + " before authentication");
  if (!request.supported(ApiKey::sasl_handshake))
    return refuse("SaslHandshake v" + std::to_string(request.version) + " is not served");
  return on_handshake(request, reader);
}

SaslVerdict SaslSession::on_handshake(const Request& request, protocol::Reader& body) {
  const auto handshake = protocol::SaslHandshakeRequest::decode(body, request.version);
  if (!handshake) return refuse("SaslHandshake malformed: " + handshake.error().message);
  protocol::SaslHandshakeResponse response;
  for (const auto& mechanism : listener_.mechanisms) response.mechanisms.emplace_back(mechanism.name);
  const auto* wanted = listener_.find(handshake->mechanism.view());
  if (wanted == nullptr) response.error_code = to_wire(ErrorCode::unsupported_sasl_mechanism);
  auto frame = encoded(ApiKey::sasl_handshake, request.version, request.correlation_id, response);
  if (wanted == nullptr) {
    auto verdict = refuse("SASL mechanism " + log_text(handshake->mechanism.view(), 40) + " is not enabled");
    verdict.frame = std::move(frame);
    return verdict;
  }
  raw_ = request.version == 0;
  if (established_ && wanted != mechanism_) {
    state_ = State::wrong_mechanism;
  } else {
    mechanism_ = wanted;
    exchange_ = wanted->serve->begin();
    state_ = State::token;
  }
  return {.action = Action::answer, .frame = std::move(frame)};
}

SaslVerdict SaslSession::receive_token(ByteView frame) {
  if (raw_) {
    token_.assign(frame.begin(), frame.end());
    return {.action = Action::evaluate};
  }
  protocol::Reader reader(frame);
  Request request;
  if (!request.read(reader, frame)) return refuse("no Kafka request, expected SaslAuthenticate");
  if (!request.is(ApiKey::sasl_authenticate)) {
    auto verdict = refuse("unexpected " + name_of(request.key) + " during authentication");
    if (request.supported(ApiKey::sasl_handshake)) {
      protocol::SaslHandshakeResponse response;
      response.error_code = to_wire(ErrorCode::illegal_sasl_state);
      verdict.frame = encoded(ApiKey::sasl_handshake, request.version, request.correlation_id, response);
    }
    return verdict;
  }
  if (!request.supported(ApiKey::sasl_authenticate))
    return refuse("SaslAuthenticate v" + std::to_string(request.version) + " is not served");
  const auto body = protocol::SaslAuthenticateRequest::decode(reader, request.version);
  if (!body) return refuse("SaslAuthenticate malformed: " + body.error().message);
  version_ = request.version;
  correlation_id_ = request.correlation_id;
  const ByteView token = body->auth_bytes.view();
  token_.assign(token.begin(), token.end());
  return {.action = Action::evaluate};
}

SaslStep SaslSession::evaluate(TimestampMs now) {
  BARNABAS_ASSERT(state_ == State::token);
  const auto token = std::exchange(token_, {});
  return exchange_->respond(token, now);
}

SaslVerdict SaslSession::conclude(SaslStep step, TimestampMs wall, Instant now) {
  switch (step.state) {
    case SaslStep::State::challenge:
      return {.action = Action::answer, .frame = token_answer(step.bytes, 0)};
    case SaslStep::State::complete:
      return complete(std::move(step), wall, now);
    case SaslStep::State::failed:
      break;
  }
  if (step.message.empty())
    step.message = std::string("Authentication failed during ") +
                   (established_ ? "re-authentication" : "authentication") +
                   " due to invalid credentials with SASL mechanism " + mechanism_->name;
  if (step.reason.empty()) step.reason = step.message;
  return refuse_token(std::move(step.message), std::move(step.reason));
}

SaslVerdict SaslSession::complete(SaslStep step, TimestampMs wall, Instant now) {
  Principal who = exchange_->principal();
  if (established_ && who != principal_) {
    // The client knows both of them.
    const std::string change = "Cannot change principals during re-authentication from " + principal_.type +
                               "." + principal_.name + ": " + who.type + "." + who.name;
    return refuse_token(change, "principal changed upon re-authentication from " +
                                    log_text(principal_.to_string()) + " to " + log_text(who.to_string()));
  }
  std::optional<std::chrono::milliseconds> lifetime;
  if (mechanism_->session_max.count() > 0) lifetime = mechanism_->session_max;
  if (const auto until = exchange_->expires_at()) {
    // A century is more than enough, and no sum with it overflows.
    constexpr std::chrono::hours lifetime_max{24 * 36'525};
    const auto left = std::min<std::chrono::milliseconds>(
        std::chrono::milliseconds(until->value() > wall.value() ? *until - wall : 0), lifetime_max);
    lifetime = lifetime ? std::min(*lifetime, left) : left;
  }
  expires_.reset();
  if (lifetime) expires_ = now + *lifetime;
  principal_ = std::move(who);
  established_ = true;
  state_ = State::established;
  SaslVerdict verdict{.action = Action::answer, .authenticated = true};
  // Of the mechanisms only GSSAPI ends without a word, where there is no envelope for one.
  if (!raw_ || !step.bytes.empty() || mechanism_->name != "GSSAPI")
    verdict.frame = token_answer(step.bytes, lifetime ? lifetime->count() : 0);
  exchange_.reset();
  return verdict;
}

SaslVerdict SaslSession::refuse(std::string reason) {
  state_ = State::over;
  exchange_.reset();
  return {.action = Action::refuse, .reason = std::move(reason)};
}

SaslVerdict SaslSession::refuse_token(std::string message, std::string reason) {
  auto verdict = refuse(mechanism_->name + ": " + std::move(reason));
  if (raw_) return verdict;  // there is no way to tell
  protocol::SaslAuthenticateResponse response;
  response.error_code = to_wire(ErrorCode::sasl_authentication_failed);
  response.error_message = protocol::String(message);
  verdict.frame = encoded(ApiKey::sasl_authenticate, version_, correlation_id_, response);
  return verdict;
}

std::vector<std::byte> SaslSession::token_answer(ByteView token, int64_t lifetime_ms) const {
  if (raw_) return {token.begin(), token.end()};
  protocol::SaslAuthenticateResponse response;
  response.auth_bytes = protocol::Bytes::view_of(token);
  response.session_lifetime_ms = lifetime_ms;
  return encoded(ApiKey::sasl_authenticate, version_, correlation_id_, response);
}

}  // namespace barnabas::security
