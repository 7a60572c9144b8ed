#include "security/oauth_bearer_exchange.h"

#include <utility>

#include "security/oauth_bearer_message.h"

namespace barnabas::security {
namespace {

/// Kafka's, byte by byte: what the client is told, and what the answer to its acknowledgement says.
constexpr std::string_view invalid_token = R"({"status":"invalid_token"})";

}  // namespace

Result<AcceptedToken> OAuthBearerExchange::check(const std::string& text, TimestampMs now) const {
  BARNABAS_ASSIGN(const auto token, JsonWebToken::parse(text));
  const auto keys = keys_->current();
  auto accepted =
      keys ? token.check(*keys, rules_, now)
           : Result<AcceptedToken>(fail(ErrorKind::not_found, "token: the endpoint has given no keys yet"));
  if (!accepted && accepted.error().kind == ErrorKind::not_found) keys_->look_again();
  return accepted;
}

SaslStep OAuthBearerExchange::challenge(std::string reason) {
  refused_ = std::move(reason);
  const ByteView bytes = as_byte_view(invalid_token);
  return {.state = SaslStep::State::challenge, .bytes = {bytes.begin(), bytes.end()}, .reason = *refused_};
}

SaslStep OAuthBearerExchange::respond(ByteView message, TimestampMs now) {
  if (refused_) return {.message = std::string(invalid_token), .reason = std::move(*refused_)};
  auto first = OAuthBearerMessage::parse(message);
  if (!first) return {.reason = std::move(first).error().message};
  auto accepted = check(first->token, now);
  if (!accepted) return challenge(std::move(accepted).error().message);
  if (!first->as_whom.empty() && first->as_whom != accepted->subject)
    return {.message = "Authentication failed: Client requested an authorization id (" + first->as_whom +
                       ") that is different from the token's principal name (" + accepted->subject + ")",
            .reason = "an authorization id that is not the token's subject"};
  principal_.name = std::move(accepted->subject);
  expires_at_ = accepted->expires_at;
  return {.state = SaslStep::State::complete};
}

}  // namespace barnabas::security
