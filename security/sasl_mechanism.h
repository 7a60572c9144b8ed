#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "metadata/image.h"
#include "security/mechanism_settings.h"
#include "security/sasl_exchange.h"
#include "security/token_keys.h"

namespace barnabas::security {

/// A SASL mechanism as one listener serves it, with its settings read. Any thread.
class SaslMechanism {
 public:
  virtual ~SaslMechanism() = default;
  /// The server's side of one authentication. Must not outlive the mechanism. Does not wait.
  virtual std::unique_ptr<SaslExchange> begin() const = 0;
};

/// Where mechanisms get what is not in their settings. What they call may be called from any thread.
struct SaslSources {
  /// The metadata in force, with SCRAM credentials and delegation tokens.
  std::function<metadata::MetadataImagePtr()> image;
  /// delegation.token.secret.key; empty: there are no delegation tokens.
  std::string token_secret_key{};
  /// The keys of an endpoint, for OAUTHBEARER; whoever gives them keeps them up to date. Called at start
  /// only, may wait.
  std::function<Result<std::shared_ptr<TokenKeys>>(const TokenKeyEndpoint&)> token_keys{};
};

using MakeSaslMechanism = Result<std::unique_ptr<SaslMechanism>> (*)(const MechanismSettings& settings,
                                                                     const SaslSources& sources);

struct SaslMechanismEntry {
  std::string_view name;  ///< as in sasl.enabled.mechanisms and on the wire; case matters
  MakeSaslMechanism make;
};

/// All that there are, in alphabetical order. A new one is a line in sasl_mechanisms.cc.
std::span<const SaslMechanismEntry> sasl_mechanisms();
/// ErrorKind::unsupported with the names that exist for one that does not; else what `make` says of settings
/// that are missing or wrong. May read files, so at start only.
Result<std::unique_ptr<SaslMechanism>> make_sasl_mechanism(const MechanismSettings& settings,
                                                           const SaslSources& sources);

}  // namespace barnabas::security
