#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "security/json_web_key_set.h"

namespace barnabas::security {

/// Where the keys of an issuer of tokens come from: sasl.oauthbearer.jwks.endpoint.* without these words.
struct TokenKeyEndpoint {
  std::string url;                               ///< of http, https or file
  std::chrono::milliseconds refresh{3'600'000};  ///< refresh.ms: how often the keys are fetched anew
  std::chrono::milliseconds retry_backoff{
      100};  ///< retry.backoff.ms: after one that failed; doubles with each more
  std::chrono::milliseconds retry_backoff_max{10'000};  ///< retry.backoff.max.ms: up to this
  /// PEM file of whom to trust for https; "": the certificate authorities of the machine.
  std::string trusted_certificates{};

  bool operator==(const TokenKeyEndpoint&) const = default;
};

/// The keys that tokens are checked with, which somebody else keeps up to date. Any thread; neither function
/// waits.
class TokenKeys {
 public:
  virtual ~TokenKeys() = default;

  /// Null as long as none could be had.
  virtual std::shared_ptr<const JsonWebKeySet> current() const = 0;

  /// A token names a key that is not among the current ones: they may have changed. Whoever asks, and how
  /// often, the endpoint is not asked more often than it can bear.
  virtual void look_again() = 0;
};

}  // namespace barnabas::security
