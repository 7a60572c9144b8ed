#include "client/sasl_client.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "security/base64.h"
#include "security/scram_keys.h"

namespace barnabas::client {
namespace {

using security::ScramBytes;

std::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorKind::invalid, "the broker's SCRAM message has " + std::string(what));
}

/// A user's name as SCRAM's messages hold it.
std::string escaped(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == ',') {
      text += "=2C";
    } else if (c == '=') {
      text += "=3D";
    } else {
      text += c;
    }
  }
  return text;
}

/// Of "r=…,s=…,i=…"; nothing when it is not there.
std::optional<std::string_view> attribute(std::string_view message, char name) {
  while (!message.empty()) {
    const std::string_view item = message.substr(0, message.find(','));
    if (item.size() >= 2 && item[0] == name && item[1] == '=') return item.substr(2);
    message.remove_prefix(std::min(item.size() + 1, message.size()));
  }
  return std::nullopt;
}

struct Challenge {
  std::string_view nonce;
  ScramBytes salt;
  int32_t iterations = 0;
};

Result<Challenge> read_challenge(std::string_view message, std::string_view own_nonce) {
  if (attribute(message, 'e'))
    return fail(ErrorKind::invalid, "the broker refuses: " + std::string(*attribute(message, 'e')));
  const auto nonce = attribute(message, 'r');
  if (!nonce || !nonce->starts_with(own_nonce) || nonce->size() == own_nonce.size())
    return malformed("another nonce");
  const auto salt = attribute(message, 's');
  auto bytes = salt ? security::decode_base64(*salt) : std::nullopt;
  if (!bytes) return malformed("no salt");
  const auto rounds = attribute(message, 'i').value_or("");
  int32_t iterations = 0;
  const auto parsed = std::from_chars(rounds.data(), rounds.data() + rounds.size(), iterations);
  // Fewer would make the password cheap to guess for whoever pretends to be the broker; more keep us busy.
  if (parsed.ec != std::errc() || iterations < security::scram_iterations_min || iterations > 1'000'000)
    return malformed("a bad number of iterations (" + std::string(rounds.substr(0, 12)) + ")");
  return Challenge{*nonce, std::move(*bytes), iterations};
}

Result<void> log_in_by_scram(const ConnectionSettings& settings, security::ScramMechanism mechanism,
                             std::string_view own_nonce, const SaslRound& round) {
  const std::string first = "n=" + escaped(settings.user) + ",r=" + std::string(own_nonce);
  BARNABAS_ASSIGN(const std::string server_first, round("n,," + first));
  BARNABAS_ASSIGN(const Challenge challenge, read_challenge(server_first, own_nonce));
  const std::string without_proof = "c=biws,r=" + std::string(challenge.nonce);
  const std::string signed_text = first + "," + server_first + "," + without_proof;
  const auto salted =
      security::scram_salted_password(mechanism, settings.password, challenge.salt, challenge.iterations);
  const auto client_key = security::scram_hmac(mechanism, salted, as_byte_view("Client Key"));
  const auto stored_key = security::scram_hash(mechanism, client_key);
  auto proof = security::scram_hmac(mechanism, stored_key, as_byte_view(signed_text));
  std::ranges::transform(proof, client_key, proof.begin(), std::bit_xor<>());
  BARNABAS_ASSIGN(const std::string server_final,
                  round(without_proof + ",p=" + security::encode_base64(proof)));
  const auto shown = attribute(server_final, 'v');
  const auto signature = shown ? security::decode_base64(*shown) : std::nullopt;
  const auto expected = security::scram_hmac(mechanism, security::scram_server_key(mechanism, salted),
                                             as_byte_view(signed_text));
  if (!signature || signature->size() != expected.size() ||
      CRYPTO_memcmp(signature->data(), expected.data(), expected.size()) != 0)
    return fail(ErrorKind::invalid, "the broker does not know the password itself; it may be another's");
  return {};
}

}  // namespace

Result<void> log_in(const ConnectionSettings& settings, std::string_view nonce, const SaslRound& round) {
  if (settings.mechanism == "PLAIN") {
    using namespace std::string_literals;
    BARNABAS_TRY(round("\0"s + settings.user + "\0"s + settings.password));
    return {};
  }
  const auto mechanism = security::scram_mechanism(settings.mechanism);
  if (!mechanism) return fail(ErrorKind::unsupported, "SASL mechanism " + settings.mechanism);
  return log_in_by_scram(settings, *mechanism, nonce, round);
}

}  // namespace barnabas::client
