#pragma once

#include <memory>
#include <optional>
#include <string>

#include "security/json_web_token.h"
#include "security/sasl_exchange.h"
#include "security/token_keys.h"

namespace barnabas::security {

/// OAUTHBEARER (RFC 7628, KIP-255, KIP-768): the client shows a signed token, whose subject is the principal
/// and whose end is the session's. A token that is not accepted is answered with a challenge that says so, as
/// the RFC has it, and fails with the client's next message. Extensions of the client (KIP-342) are checked
/// for their form, and not used.
class OAuthBearerExchange final : public SaslExchange {
 public:
  /// `rules` outlive this.
  OAuthBearerExchange(const TokenRules& rules, std::shared_ptr<TokenKeys> keys)
      : rules_(rules), keys_(std::move(keys)) {}

  SaslStep respond(ByteView message, TimestampMs now) override;
  Principal principal() const override { return principal_; }
  std::optional<TimestampMs> expires_at() const override { return expires_at_; }

 private:
  Result<AcceptedToken> check(const std::string& text, TimestampMs now) const;
  SaslStep challenge(std::string reason);

  const TokenRules& rules_;
  std::shared_ptr<TokenKeys> keys_;
  std::optional<std::string> refused_;  ///< why, for the log; the client has been told that it is
  Principal principal_;
  std::optional<TimestampMs> expires_at_;
};

}  // namespace barnabas::security
