#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "metadata/credential_image.h"
#include "metadata/shared_map.h"

namespace barnabas::security {

/// Finds delegation tokens by their secrets, which the metadata do not hold: each is worked out once, when
/// its token is first seen. One thread at a time.
///
/// A look-up costs one secret, and a pointer for each 64 tokens. The time that it takes tells nothing of
/// anybody's secret: what is looked for is a hash of what was sent, and the secret itself is compared in
/// constant time. Of secrets only hashes are kept.
class DelegationTokenIndex {
 public:
  using Tokens =
      metadata::SharedMap<std::shared_ptr<const metadata::DelegationToken>, metadata::DelegationTokenIdOf>;
  /// The secret of a token by its id: delegation_token_hmac. The same whenever it is asked for.
  using SecretOf = std::function<std::vector<std::byte>(std::string_view id)>;

  explicit DelegationTokenIndex(SecretOf secret_of) : secret_of_(std::move(secret_of)) {}

  /// The one of `tokens` whose secret `hmac` is; null if there is none. Lives as long as they do.
  const metadata::DelegationToken* find(ByteView hmac, const Tokens& tokens);

  /// How many tokens it knows of, those that are gone included.
  std::size_t size() const { return digests_.size(); }

 private:
  using Digest = std::array<std::byte, 32>;
  struct DigestHash {
    std::size_t operator()(const Digest& digest) const noexcept;
  };
  static Digest digest_of(ByteView hmac);
  void learn(const Tokens& tokens);
  void forget_those_gone(const Tokens& tokens);

  const SecretOf secret_of_;
  Tokens seen_;
  std::unordered_map<std::string, Digest> digests_;  ///< by id
  std::unordered_map<Digest, std::string, DigestHash> ids_;
};

}  // namespace barnabas::security
