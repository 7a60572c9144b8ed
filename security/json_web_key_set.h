#pragma once

#include <openssl/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "security/json_web_algorithm.h"

namespace barnabas::security {

/// A public key that signatures are checked with.
struct JsonWebKey {
  std::optional<std::string> id{};  ///< kid
  const JsonWebAlgorithm* algorithm =
      nullptr;          ///< the only one that it may be used with (alg); null: all that fit
  std::string curve{};  ///< RFC 7518's name; "" of an RSA key
  std::shared_ptr<EVP_PKEY> key{};
};

/// The keys of whoever signs tokens (RFC 7517, section 5). Immutable, for any thread.
class JsonWebKeySet {
 public:
  /// RSA keys of 2048 to 8192 bits, and EC keys on P-256, P-384 and P-521. What cannot check signatures of
  /// ours is left out, as the RFC says: keys of other types and uses, broken and weak ones. An error when the
  /// text is no key set, or is larger than a MiB.
  static Result<JsonWebKeySet> parse(std::string_view json);

  /// What may have made a signature by `algorithm`: type, curve and alg fit, and the id, if the token names
  /// one. At most `candidates_max`: a token costs no more signatures than that.
  std::vector<const JsonWebKey*> candidates(const JsonWebAlgorithm& algorithm,
                                            const std::optional<std::string>& id) const;
  static constexpr std::size_t candidates_max = 4;

  std::size_t size() const { return keys_.size(); }
  std::size_t left_out() const { return left_out_; }

 private:
  std::vector<JsonWebKey> keys_;
  std::size_t left_out_ = 0;
};

}  // namespace barnabas::security
