#include "security/json_web_algorithm.h"

#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <memory>
#include <string>

namespace barnabas::security {
namespace {

constexpr std::array curves = {
    JsonWebCurve{"P-256", "prime256v1", 32},
    JsonWebCurve{"P-384", "secp384r1", 48},
    JsonWebCurve{"P-521", "secp521r1", 66},
};

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// r and s, one behind the other in the curve's width, as the DER that OpenSSL checks; "" when they are no
/// such two.
std::string der_of_raw(std::string_view signature, const JsonWebCurve& curve) {
  if (signature.size() != 2 * curve.coordinate_bytes) return "";
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(ECDSA_SIG_new(), &ECDSA_SIG_free);
  const auto half = static_cast<int>(curve.coordinate_bytes);
  BIGNUM* r = BN_bin2bn(bytes_of(signature), half, nullptr);
  BIGNUM* s = BN_bin2bn(bytes_of(signature) + half, half, nullptr);
  if (!pair || r == nullptr || s == nullptr || ECDSA_SIG_set0(pair.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return "";
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &der);
  if (size <= 0) return "";
  std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

bool set_padding(EVP_PKEY_CTX* context, const JsonWebAlgorithm& algorithm) {
  if (algorithm.scheme == JsonWebAlgorithm::Scheme::rsa_pkcs1)
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1;
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

}  // namespace

const JsonWebAlgorithm* find_json_web_algorithm(std::string_view name) {
  const auto* const at = std::ranges::find(json_web_algorithms, name, &JsonWebAlgorithm::name);
  return at == json_web_algorithms.end() ? nullptr : at;
}

const JsonWebCurve* find_json_web_curve(std::string_view name) {
  const auto* const at = std::ranges::find(curves, name, &JsonWebCurve::name);
  return at == curves.end() ? nullptr : at;
}

bool is_signature(const JsonWebAlgorithm& algorithm, EVP_PKEY* key, std::string_view text,
                  std::string_view signature) {
  std::string der;
  if (algorithm.scheme == JsonWebAlgorithm::Scheme::ecdsa) {
    const JsonWebCurve* const curve = find_json_web_curve(algorithm.curve);
    if (curve == nullptr) return false;
    der = der_of_raw(signature, *curve);
    if (der.empty()) return false;
    signature = der;
  } else if (signature.size() != static_cast<std::size_t>(EVP_PKEY_get_size(key))) {
    return false;
  }
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  EVP_PKEY_CTX* options = nullptr;  // the context's own
  const std::string digest(algorithm.digest);
  const bool right =
      context &&
      EVP_DigestVerifyInit_ex(context.get(), &options, digest.c_str(), nullptr, nullptr, key, nullptr) == 1 &&
      (!algorithm.is_rsa() || set_padding(options, algorithm)) &&
      EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(text), text.size()) ==
          1;
  // A wrong signature leaves words behind that would be taken for the next one's who asks on this thread.
  ERR_clear_error();
  return right;
}

}  // namespace barnabas::security
