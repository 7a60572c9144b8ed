#pragma once

#include <map>
#include <mutex>

#include "security/scram_mechanism.h"

namespace barnabas::security {

/// SCRAM identities as the metadata in force have them. Credentials of delegation tokens, which nobody keeps,
/// are made when a token is first used (a few ms) and remembered as long as the token is there.
class MetadataIdentities final : public ScramIdentities {
 public:
  /// `token_secret_key` empty: no delegation tokens.
  MetadataIdentities(std::function<metadata::MetadataImagePtr()> image, std::string token_secret_key)
      : image_(std::move(image)), token_secret_key_(std::move(token_secret_key)) {}

  std::optional<ScramIdentity> user(ScramMechanism mechanism, const std::string& name) const override;
  std::optional<ScramIdentity> token_owner(ScramMechanism mechanism, const std::string& token_id,
                                           TimestampMs now) const override;

 private:
  std::shared_ptr<const metadata::ScramCredential> token_credential(const metadata::MetadataImage& image,
                                                                    metadata::ScramKey key) const;

  const std::function<metadata::MetadataImagePtr()> image_;
  const std::string token_secret_key_;
  mutable std::mutex mutex_;
  mutable std::map<metadata::ScramKey, std::shared_ptr<const metadata::ScramCredential>>
      token_credentials_;  ///< by mechanism and token id; no more than twice the tokens there are
};

}  // namespace barnabas::security
