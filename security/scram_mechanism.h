#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "security/sasl_mechanism.h"
#include "security/scram_keys.h"

namespace barnabas::security {

/// Who a name turned out to be, and how that can be proved.
struct ScramIdentity {
  std::shared_ptr<const metadata::ScramCredential> credential;
  Principal principal;
  std::optional<TimestampMs> expires_at{};  ///< of a delegation token
};

/// Whose credentials are asked for. Any thread.
class ScramIdentities {
 public:
  virtual ~ScramIdentities() = default;
  virtual std::optional<ScramIdentity> user(ScramMechanism mechanism, const std::string& name) const = 0;
  /// The owner of a delegation token that is valid now (KIP-48).
  virtual std::optional<ScramIdentity> token_owner(ScramMechanism mechanism, const std::string& token_id,
                                                   TimestampMs now) const = 0;
};

/// SASL/SCRAM (RFC 5802, RFC 7677) for one of the two hashes.
class ScramMechanismServer final : public SaslMechanism {
 public:
  /// Nonces of the server come from `nonce`; tests make them foreseeable.
  ScramMechanismServer(ScramMechanism mechanism, std::shared_ptr<const ScramIdentities> identities,
                       std::function<std::string()> nonce = &scram_random_text)
      : mechanism_(mechanism), identities_(std::move(identities)), nonce_(std::move(nonce)) {}
  std::unique_ptr<SaslExchange> begin() const override;

 private:
  const ScramMechanism mechanism_;
  const std::shared_ptr<const ScramIdentities> identities_;
  const std::function<std::string()> nonce_;
};

/// With the credentials and tokens of the metadata. A JAAS setting is looked at, but not needed.
Result<std::unique_ptr<SaslMechanism>> make_scram_mechanism(const MechanismSettings& settings,
                                                            const SaslSources& sources);

}  // namespace barnabas::security
