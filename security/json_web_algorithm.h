#pragma once

#include <openssl/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace barnabas::security {

/// A signature algorithm of RFC 7518, section 3.1, that a token may be signed with. There is none without a
/// key, and none with a shared secret: whoever can check one of those could sign as well.
struct JsonWebAlgorithm {
  enum class Scheme : uint8_t {
    rsa_pkcs1,  ///< RSASSA-PKCS1-v1_5
    rsa_pss,    ///< RSASSA-PSS, salt as long as the digest
    ecdsa,      ///< ECDSA, the signature being r and s one behind the other
  };
  std::string_view name;
  Scheme scheme = Scheme::rsa_pkcs1;
  std::string_view digest;  ///< OpenSSL's name
  std::string_view curve;   ///< of ecdsa: RFC 7518's name

  bool is_rsa() const { return scheme != Scheme::ecdsa; }
};

inline constexpr std::array json_web_algorithms = {
    JsonWebAlgorithm{"RS256", JsonWebAlgorithm::Scheme::rsa_pkcs1, "SHA256", ""},
    JsonWebAlgorithm{"RS384", JsonWebAlgorithm::Scheme::rsa_pkcs1, "SHA384", ""},
    JsonWebAlgorithm{"RS512", JsonWebAlgorithm::Scheme::rsa_pkcs1, "SHA512", ""},
    JsonWebAlgorithm{"PS256", JsonWebAlgorithm::Scheme::rsa_pss, "SHA256", ""},
    JsonWebAlgorithm{"PS384", JsonWebAlgorithm::Scheme::rsa_pss, "SHA384", ""},
    JsonWebAlgorithm{"PS512", JsonWebAlgorithm::Scheme::rsa_pss, "SHA512", ""},
    JsonWebAlgorithm{"ES256", JsonWebAlgorithm::Scheme::ecdsa, "SHA256", "P-256"},
    JsonWebAlgorithm{"ES384", JsonWebAlgorithm::Scheme::ecdsa, "SHA384", "P-384"},
    JsonWebAlgorithm{"ES512", JsonWebAlgorithm::Scheme::ecdsa, "SHA512", "P-521"},
};

/// Null when there is none of this name (they are case-sensitive).
const JsonWebAlgorithm* find_json_web_algorithm(std::string_view name);

/// A curve that keys may lie on.
struct JsonWebCurve {
  std::string_view name;        ///< RFC 7518's
  const char* group = nullptr;  ///< OpenSSL's
  std::size_t coordinate_bytes = 0;
};

/// Null when there is none of this name.
const JsonWebCurve* find_json_web_curve(std::string_view name);

/// Whether `signature` is `algorithm`'s of `text` by this key, which must be of the algorithm's type and
/// curve.
bool is_signature(const JsonWebAlgorithm& algorithm, EVP_PKEY* key, std::string_view text,
                  std::string_view signature);

}  // namespace barnabas::security
