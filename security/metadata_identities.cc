#include "security/metadata_identities.h"

#include "security/base64.h"
#include "security/delegation_token.h"

namespace barnabas::security {

std::optional<ScramIdentity> MetadataIdentities::user(ScramMechanism mechanism,
                                                      const std::string& name) const {
  const auto image = image_();
  const auto* found = image->scram_credentials.find(metadata::ScramKey{mechanism, name});
  if (found == nullptr) return std::nullopt;
  return ScramIdentity{*found, Principal{"User", name}};
}

std::optional<ScramIdentity> MetadataIdentities::token_owner(ScramMechanism mechanism,
                                                             const std::string& token_id,
                                                             TimestampMs now) const {
  if (token_secret_key_.empty()) return std::nullopt;
  const auto image = image_();
  const auto* token = image->delegation_token(token_id);
  if (token == nullptr || token->expired(now)) return std::nullopt;
  auto owner = parse_principal(token->owner);
  if (!owner) return std::nullopt;
  owner->token_authenticated = true;
  return ScramIdentity{token_credential(*image, {mechanism, token_id}), std::move(*owner), token->expires};
}

std::shared_ptr<const metadata::ScramCredential> MetadataIdentities::token_credential(
    const metadata::MetadataImage& image, metadata::ScramKey key) const {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto at = token_credentials_.find(key); at != token_credentials_.end()) return at->second;
  }
  const auto hmac = delegation_token_hmac(key.user, token_secret_key_);
  const std::string salt = scram_random_text();
  const ByteView salt_bytes = as_byte_view(salt);
  auto made = std::make_shared<const metadata::ScramCredential>(scram_credential(
      key, encode_base64(hmac), {salt_bytes.begin(), salt_bytes.end()}, scram_iterations_min));
  const std::scoped_lock lock(mutex_);
  if (token_credentials_.size() >= 2 * image.delegation_tokens.size())
    std::erase_if(token_credentials_,
                  [&](const auto& entry) { return image.delegation_token(entry.first.user) == nullptr; });
  return token_credentials_.try_emplace(std::move(key), std::move(made)).first->second;
}

}  // namespace barnabas::security
