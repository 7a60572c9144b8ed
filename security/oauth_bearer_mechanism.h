#pragma once

#include <memory>

#include "security/json_web_token.h"
#include "security/sasl_mechanism.h"
#include "security/token_keys.h"

namespace barnabas::security {

/// OAUTHBEARER with signed tokens, as Kafka's OAuthBearerValidatorCallbackHandler checks them (KIP-768).
class OAuthBearerMechanism final : public SaslMechanism {
 public:
  OAuthBearerMechanism(TokenRules rules, std::shared_ptr<TokenKeys> keys)
      : rules_(std::move(rules)), keys_(std::move(keys)) {}
  std::unique_ptr<SaslExchange> begin() const override;

 private:
  TokenRules rules_;
  std::shared_ptr<TokenKeys> keys_;
};

/// ErrorKind::invalid when a setting is missing or wrong. Without expected.audience or expected.issuer it
/// must be said that any will do (allow.unverified.audience, allow.unverified.issuer). Tokens without
/// signature, which Kafka accepts where no validator is set, are not.
Result<std::unique_ptr<SaslMechanism>> make_oauth_bearer_mechanism(const MechanismSettings& settings,
                                                                   const SaslSources& sources);

}  // namespace barnabas::security
