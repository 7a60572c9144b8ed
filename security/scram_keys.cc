#include "security/scram_keys.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>

#include "base/assert.h"

namespace barnabas::security {
namespace {

const unsigned char* raw(ByteView bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* raw(ScramBytes& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

const char* digest_name(ScramMechanism mechanism) {
  BARNABAS_ASSERT(mechanism == ScramMechanism::sha_256 || mechanism == ScramMechanism::sha_512);
  return mechanism == ScramMechanism::sha_256 ? "SHA256" : "SHA512";
}
std::size_t digest_bytes(ScramMechanism mechanism) {
  return mechanism == ScramMechanism::sha_256 ? 32 : 64;
}

}  // namespace

std::string_view scram_name(ScramMechanism mechanism) {
  switch (mechanism) {
    case ScramMechanism::sha_256:
      return "SCRAM-SHA-256";
    case ScramMechanism::sha_512:
      return "SCRAM-SHA-512";
    case ScramMechanism::unknown:
      break;
  }
  return "";
}

std::optional<ScramMechanism> scram_mechanism(std::string_view name) {
  for (const auto mechanism : {ScramMechanism::sha_256, ScramMechanism::sha_512})
    if (scram_name(mechanism) == name) return mechanism;
  return std::nullopt;
}

ScramBytes scram_hash(ScramMechanism mechanism, ByteView bytes) {
  ScramBytes digest(digest_bytes(mechanism));
  std::size_t length = digest.size();
  const int done = EVP_Q_digest(nullptr, digest_name(mechanism), nullptr, bytes.data(), bytes.size(),
                                raw(digest), &length);
  BARNABAS_ASSERT(done == 1 && length == digest.size());
  return digest;
}

ScramBytes scram_hmac(ScramMechanism mechanism, ByteView key, ByteView bytes) {
  ScramBytes code(digest_bytes(mechanism));
  std::size_t length = 0;
  // OpenSSL takes no null pointer for an empty key.
  static constexpr unsigned char nothing = 0;
  const unsigned char* done =
      EVP_Q_mac(nullptr, "HMAC", nullptr, digest_name(mechanism), nullptr, key.empty() ? &nothing : raw(key),
                key.size(), raw(bytes), bytes.size(), raw(code), code.size(), &length);
  BARNABAS_ASSERT(done != nullptr && length == code.size());
  return code;
}

ScramBytes scram_salted_password(ScramMechanism mechanism, std::string_view password, ByteView salt,
                                 int32_t iterations) {
  ScramBytes salted(digest_bytes(mechanism));
  const EVP_MD* digest = mechanism == ScramMechanism::sha_256 ? EVP_sha256() : EVP_sha512();
  const int done = PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), raw(salt),
                                     static_cast<int>(salt.size()), iterations, digest,
                                     static_cast<int>(salted.size()), raw(salted));
  BARNABAS_ASSERT(done == 1);
  return salted;
}

ScramBytes scram_stored_key(ScramMechanism mechanism, ByteView salted_password) {
  return scram_hash(mechanism, scram_hmac(mechanism, salted_password, as_byte_view("Client Key")));
}

ScramBytes scram_server_key(ScramMechanism mechanism, ByteView salted_password) {
  return scram_hmac(mechanism, salted_password, as_byte_view("Server Key"));
}

metadata::ScramCredential scram_credential(metadata::ScramKey key, std::string_view password, ScramBytes salt,
                                           int32_t iterations) {
  const auto salted = scram_salted_password(key.mechanism, password, salt, iterations);
  return scram_credential_of_salted(std::move(key), salted, std::move(salt), iterations);
}

metadata::ScramCredential scram_credential_of_salted(metadata::ScramKey key, ByteView salted_password,
                                                     ScramBytes salt, int32_t iterations) {
  metadata::ScramCredential credential;
  credential.stored_key = scram_stored_key(key.mechanism, salted_password);
  credential.server_key = scram_server_key(key.mechanism, salted_password);
  credential.salt = std::move(salt);
  credential.iterations = iterations;
  credential.key = std::move(key);
  return credential;
}

std::string scram_random_text() {
  constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
  constexpr std::size_t length = 26;  // five bits each
  std::array<unsigned char, length> random{};
  const int done = RAND_bytes(random.data(), static_cast<int>(random.size()));
  BARNABAS_ASSERT(done == 1);
  std::string text;
  for (const unsigned char byte : random) text += digits[byte & 31];
  return text;
}

}  // namespace barnabas::security
