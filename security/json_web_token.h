#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "security/json_web_algorithm.h"
#include "security/json_web_key_set.h"

namespace barnabas::security {

/// What a token has to say to be accepted. Names of settings without "sasl.oauthbearer.".
struct TokenRules {
  std::chrono::seconds clock_skew{30};   ///< clock.skew.seconds: how far the issuer's clock may be off
  std::vector<std::string> audiences{};  ///< expected.audience: one of them; empty: any or none
  std::optional<std::string> issuer{};   ///< expected.issuer; nothing: any or none
  std::string subject_claim = "sub";     ///< sub.claim.name: what holds the principal's name
  std::string scope_claim = "scope";     ///< scope.claim.name
};

/// What was read from a token whose signature and claims were found right.
struct AcceptedToken {
  std::string subject{};
  std::vector<std::string> scopes{};
  TimestampMs expires_at{};
};

/// A signed JWT in compact form (RFC 7515 and 7519), taken apart as far as one may without trusting it.
/// Borrows from the text that it was made of.
class JsonWebToken {
 public:
  /// Refused with invalid: what is no signed JWT, what is signed by an algorithm that is not among
  /// `json_web_algorithms`, extensions that have to be understood (crit), tokens within tokens. No error
  /// repeats anything of the token.
  static Result<JsonWebToken> parse(std::string_view text);

  const JsonWebAlgorithm& algorithm() const { return *algorithm_; }
  const std::optional<std::string>& key_id() const { return key_id_; }

  /// Checks the signature, then the claims (RFC 7519, section 4.1): exp and iat must be there, nbf is looked
  /// at if it is. not_found: no key of the set fits, so a newer set might help; invalid: all else.
  Result<AcceptedToken> check(const JsonWebKeySet& keys, const TokenRules& rules, TimestampMs now) const;

 private:
  JsonWebToken() = default;
  Result<void> check_signature(const JsonWebKeySet& keys) const;

  std::string_view signed_text_;
  std::string_view payload_;
  std::string signature_;
  const JsonWebAlgorithm* algorithm_ = nullptr;
  std::optional<std::string> key_id_;
};

}  // namespace barnabas::security
