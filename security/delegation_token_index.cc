#include "security/delegation_token_index.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "security/scram_keys.h"

namespace barnabas::security {

std::size_t DelegationTokenIndex::DigestHash::operator()(const Digest& digest) const noexcept {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

DelegationTokenIndex::Digest DelegationTokenIndex::digest_of(ByteView hmac) {
  const auto hash = scram_hash(metadata::ScramMechanism::sha_256, hmac);
  Digest digest{};
  std::ranges::copy(hash, digest.begin());
  return digest;
}

void DelegationTokenIndex::learn(const Tokens& tokens) {
  tokens.for_each_unshared(seen_, [&](const auto& token) {
    const auto [at, is_new] = digests_.try_emplace(token->id);
    if (!is_new) return;
    at->second = digest_of(secret_of_(token->id));
    ids_.emplace(at->second, token->id);
  });
  seen_ = tokens;
}

void DelegationTokenIndex::forget_those_gone(const Tokens& tokens) {
  constexpr std::size_t few = 64;
  if (digests_.size() <= 2 * tokens.size() + few) return;
  std::erase_if(digests_, [&](const auto& entry) { return tokens.find(entry.first) == nullptr; });
  std::erase_if(ids_, [&](const auto& entry) { return !digests_.contains(entry.second); });
}

const metadata::DelegationToken* DelegationTokenIndex::find(ByteView hmac, const Tokens& tokens) {
  learn(tokens);
  forget_those_gone(tokens);
  const auto at = ids_.find(digest_of(hmac));
  if (at == ids_.end()) return nullptr;
  const auto* token = tokens.find(at->second);
  if (token == nullptr) return nullptr;
  const auto secret = secret_of_(at->second);
  const bool same =
      secret.size() == hmac.size() && CRYPTO_memcmp(secret.data(), hmac.data(), hmac.size()) == 0;
  return same ? token->get() : nullptr;
}

}  // namespace barnabas::security
