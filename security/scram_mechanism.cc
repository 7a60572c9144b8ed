#include "security/scram_mechanism.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>

#include "security/base64.h"
#include "security/metadata_identities.h"
#include "security/scram_messages.h"

namespace barnabas::security {
namespace {

constexpr std::string_view token_extension = "tokenauth";

bool is_true(std::string_view text) {
  return std::ranges::equal(text, std::string_view("true"),
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

class ScramExchange final : public SaslExchange {
 public:
  ScramExchange(ScramMechanism mechanism, const ScramIdentities& identities, std::string nonce)
      : mechanism_(mechanism), identities_(identities), nonce_(std::move(nonce)) {}

  SaslStep respond(ByteView message, TimestampMs now) override {
    return server_first_.empty() ? on_first(message, now) : on_final(message);
  }
  Principal principal() const override { return identity_.principal; }
  std::optional<TimestampMs> expires_at() const override { return identity_.expires_at; }

 private:
  /// The client is told no more than that it is not who it says: see SaslStep::message.
  static SaslStep refuse(std::string reason) { return {.reason = std::move(reason)}; }

  SaslStep on_first(ByteView message, TimestampMs now) {
    const auto first = parse_scram_client_first(message);
    if (!first) return refuse("malformed first SCRAM message");
    const auto extension = first->extensions.find(token_extension);
    const bool by_token = extension != first->extensions.end() && is_true(extension->second);
    auto identity = by_token ? identities_.token_owner(mechanism_, first->user, now)
                             : identities_.user(mechanism_, first->user);
    if (!identity)
      return refuse(by_token ? "no valid delegation token of that id" : "no credential of that user");
    if (!first->as_whom.empty() && first->as_whom != first->user)
      return {
          .message =
              "Authentication failed: Client requested an authorization id that is different from username"};
    identity_ = std::move(*identity);
    if (identity_.credential->iterations < scram_iterations_min) return refuse("too few iterations");
    nonce_.insert(0, first->nonce);
    first_bare_ = first->bare;
    server_first_ = "r=" + nonce_ + ",s=" + encode_base64(identity_.credential->salt) +
                    ",i=" + std::to_string(identity_.credential->iterations);
    return challenge(SaslStep::State::challenge, server_first_);
  }

  SaslStep on_final(ByteView message) {
    const auto last = parse_scram_client_final(message);
    if (!last) return refuse("malformed last SCRAM message");
    // librdkafka before 2.6 puts its own nonce in front once more; Kafka before 4 let it, and the proof
    // covers it.
    if (!last->nonce.ends_with(nonce_)) return refuse("another nonce than that of the challenge");
    const std::string signed_text =
        first_bare_ + "," + server_first_ + "," + std::string(last->without_proof);
    const metadata::ScramCredential& credential = *identity_.credential;
    const ScramBytes signature = scram_hmac(mechanism_, credential.stored_key, as_byte_view(signed_text));
    if (last->proof.size() != signature.size()) return refuse("a proof of another length");
    ScramBytes client_key(signature.size());
    std::ranges::transform(signature, last->proof, client_key.begin(), std::bit_xor<>());
    const ScramBytes stored_key = scram_hash(mechanism_, client_key);
    if (stored_key.size() != credential.stored_key.size() ||
        CRYPTO_memcmp(stored_key.data(), credential.stored_key.data(), stored_key.size()) != 0)
      return refuse("wrong password");
    const ScramBytes proof = scram_hmac(mechanism_, credential.server_key, as_byte_view(signed_text));
    return challenge(SaslStep::State::complete, "v=" + encode_base64(proof));
  }

  static SaslStep challenge(SaslStep::State state, std::string_view text) {
    const ByteView bytes = as_byte_view(text);
    return {.state = state, .bytes = {bytes.begin(), bytes.end()}};
  }

  const ScramMechanism mechanism_;
  const ScramIdentities& identities_;
  std::string nonce_;  ///< the server's; behind the client's once that is known
  std::string first_bare_;
  std::string server_first_;  ///< empty: the client's first message is awaited
  ScramIdentity identity_;
};

}  // namespace

std::unique_ptr<SaslExchange> ScramMechanismServer::begin() const {
  return std::make_unique<ScramExchange>(mechanism_, *identities_, nonce_());
}

Result<std::unique_ptr<SaslMechanism>> make_scram_mechanism(const MechanismSettings& settings,
                                                            const SaslSources& sources) {
  if (settings.given("sasl.server.callback.handler.class"))
    return settings.refuse("sasl.server.callback.handler.class",
                           "a class of Java's cannot run here; credentials of SCRAM are in the metadata log");
  BARNABAS_ASSIGN(const auto module, settings.login_module());
  if (module && module->short_name() != "ScramLoginModule")
    return settings.refuse(
        "sasl.jaas.config",
        "the login module is " + module->name + "; expected ScramLoginModule required; or no such setting");
  const auto mechanism = scram_mechanism(settings.mechanism());
  return std::make_unique<ScramMechanismServer>(
      *mechanism, std::make_shared<MetadataIdentities>(sources.image, sources.token_secret_key));
}

}  // namespace barnabas::security
