// Tokens and key sets. The first byte says what follows: a token as a client sends it; claims, which are
// signed here, so that what is behind the signature is reached; or a key set. A token that was not signed
// here says "alice" or is refused.
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/assert.h"
#include "security/json_web_token.h"

namespace {

using namespace barnabas;
using namespace barnabas::security;

constexpr TimestampMs now{1'800'000'000'000};
constexpr std::size_t coordinate_bytes = 32;

std::string encoded(std::string_view bytes) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  uint32_t bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (held += 8; held >= 6; held -= 6) text += alphabet[(bits >> (held - 6)) & 63];
  }
  if (held > 0) text += alphabet[(bits << (6 - held)) & 63];
  return text;
}

std::string fixed_width(const BIGNUM* number) {
  std::string bytes(coordinate_bytes, '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  return bytes;
}

/// A key of this run's own.
class Signer {
 public:
  Signer() : key_(EVP_EC_gen("P-256"), &EVP_PKEY_free) { BARNABAS_ASSERT(key_ != nullptr); }

  JsonWebKeySet keys() const {
    const auto coordinate = [&](const char* name) {
      BIGNUM* number = nullptr;
      BARNABAS_ASSERT(EVP_PKEY_get_bn_param(key_.get(), name, &number) == 1);
      const std::string bytes = fixed_width(number);
      BN_free(number);
      return encoded(bytes);
    };
    const std::string text = R"({"keys":[{"kty":"EC","crv":"P-256","x":")" +
                             coordinate(OSSL_PKEY_PARAM_EC_PUB_X) + R"(","y":")" +
                             coordinate(OSSL_PKEY_PARAM_EC_PUB_Y) + R"("}]})";
    return JsonWebKeySet::parse(text).value();
  }

  std::string token(std::string_view claims) const {
    const std::string text = encoded(R"({"alg":"ES256"})") + "." + encoded(claims);
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    std::array<unsigned char, 128> der{};
    std::size_t size = der.size();
    BARNABAS_ASSERT(
        EVP_DigestSignInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr, key_.get(), nullptr) == 1);
    BARNABAS_ASSERT(EVP_DigestSign(context.get(), der.data(), &size,
                                   reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1);
    const unsigned char* at = der.data();
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
        d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)), &ECDSA_SIG_free);
    return text + "." +
           encoded(fixed_width(ECDSA_SIG_get0_r(pair.get())) + fixed_width(ECDSA_SIG_get0_s(pair.get())));
  }

 private:
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

TokenRules rules() {
  TokenRules rules;
  rules.audiences = {"kafka"};
  rules.issuer = "https://issuer.example";
  return rules;
}

Result<AcceptedToken> check(std::string_view text, const JsonWebKeySet& keys) {
  static const TokenRules by = rules();
  BARNABAS_ASSIGN(const auto token, JsonWebToken::parse(text));
  auto accepted = token.check(keys, by, now);
  if (accepted) {
    BARNABAS_ASSERT(!accepted->subject.empty());
    BARNABAS_ASSERT(accepted->expires_at.value() > now.value() - by.clock_skew.count() * 1000);
  }
  return accepted;
}

/// The first of the corpus' tokens' keys: an RSA and an EC key (RFC 7515, appendix A), whose private halves
/// anybody may know.
constexpr std::string_view public_keys = R"({"keys":[
  {"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"},
  {"kty":"EC","kid":"ec","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const Signer signer;
  static const JsonWebKeySet own_keys = signer.keys();
  static const JsonWebKeySet known_keys = JsonWebKeySet::parse(public_keys).value();
  static const std::string good = signer.token(
      R"({"sub":"alice","iss":"https://issuer.example","aud":"kafka","iat":1800000000,"exp":1800000600})");
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      // Nobody but this run can sign for its own key; the RFC's tokens have no iat.
      BARNABAS_ASSERT(!check(text, own_keys));
      BARNABAS_ASSERT(!check(text, known_keys));
      break;
    case 1:
      (void)check(signer.token(text), own_keys);
      break;
    default:
      if (const auto keys = JsonWebKeySet::parse(text)) BARNABAS_ASSERT(!check(good, *keys));
      BARNABAS_ASSERT(check(good, own_keys).has_value());
  }
  return 0;
}
