// What a client may say on a SASL listener before anybody knows who it is: frames, each with two bytes of
// length in front, to a listener with PLAIN, SCRAM and OAUTHBEARER. Nobody but alice may come out, and nobody
// once it was refused.
#include <cstdint>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "security/oauth_bearer_mechanism.h"
#include "security/plain_mechanism.h"
#include "security/sasl_session.h"
#include "security/scram_mechanism.h"

namespace {

using namespace barnabas;
using namespace barnabas::security;

constexpr TimestampMs wall_clock{1'800'000'000'000};
constexpr Instant monotonic{std::chrono::hours(1)};
constexpr std::size_t frame_bytes_max = 4096;

/// Alice, with "secret" as her password.
class OneUser final : public ScramIdentities {
 public:
  std::optional<ScramIdentity> user(ScramMechanism mechanism, const std::string& name) const override {
    if (name != "alice") return std::nullopt;
    return ScramIdentity{.credential = credential(mechanism), .principal = {.name = "alice"}};
  }
  std::optional<ScramIdentity> token_owner(ScramMechanism mechanism, const std::string& id,
                                           TimestampMs) const override {
    if (id != "token") return std::nullopt;
    return ScramIdentity{.credential = credential(mechanism),
                         .principal = {.name = "alice", .token_authenticated = true},
                         .expires_at = wall_clock + 60'000};
  }

 private:
  static std::shared_ptr<const metadata::ScramCredential> credential(ScramMechanism mechanism) {
    static const auto make = [](ScramMechanism of) {
      const ByteView salt = as_byte_view("salt and pepper");
      return std::make_shared<const metadata::ScramCredential>(
          scram_credential({of, "alice"}, "secret", {salt.begin(), salt.end()}, scram_iterations_min));
    };
    static const auto sha_256 = make(ScramMechanism::sha_256);
    static const auto sha_512 = make(ScramMechanism::sha_512);
    return mechanism == ScramMechanism::sha_256 ? sha_256 : sha_512;
  }
};

class NoKeys final : public TokenKeys {
 public:
  std::shared_ptr<const JsonWebKeySet> current() const override { return none_; }
  void look_again() override {}

 private:
  std::shared_ptr<const JsonWebKeySet> none_ = std::make_shared<const JsonWebKeySet>();
};

SaslListener make_listener() {
  SaslListener listener;
  listener.message_bytes_max = frame_bytes_max;
  const auto add = [&](const char* name, std::unique_ptr<SaslMechanism> mechanism) {
    listener.mechanisms.push_back({.name = name, .serve = std::move(mechanism)});
  };
  const auto nonce = [] { return std::string("nonce-of-the-server"); };
  const auto users = std::make_shared<OneUser>();
  add("OAUTHBEARER", std::make_unique<OAuthBearerMechanism>(TokenRules(), std::make_shared<NoKeys>()));
  add("PLAIN", std::make_unique<PlainMechanism>(PlainUsers{{"alice", "secret"}}));
  add("SCRAM-SHA-256", std::make_unique<ScramMechanismServer>(ScramMechanism::sha_256, users, nonce));
  add("SCRAM-SHA-512", std::make_unique<ScramMechanismServer>(ScramMechanism::sha_512, users, nonce));
  listener.mechanisms.back().session_max = std::chrono::milliseconds(1000);
  return listener;
}

/// Gives the session the next frame; false once the connection would be closed.
bool receive(SaslSession& session, ByteView frame, Instant now) {
  SaslVerdict verdict = session.receive(frame, now);
  if (verdict.action == SaslVerdict::Action::evaluate)
    verdict = session.conclude(session.evaluate(wall_clock), wall_clock, now);
  BARNABAS_ASSERT(verdict.action != SaslVerdict::Action::evaluate);
  BARNABAS_ASSERT(!verdict.authenticated || session.authenticated());
  if (session.authenticated()) BARNABAS_ASSERT(session.principal().to_string() == "User:alice");
  return verdict.action != SaslVerdict::Action::refuse;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const SaslListener listener = make_listener();
  SaslSession session(listener);
  ByteView input = std::as_bytes(std::span(data, size));
  Instant now = monotonic;
  while (input.size() >= 2) {
    const std::size_t claimed =
        std::to_integer<std::size_t>(input[0]) << 8 | std::to_integer<std::size_t>(input[1]);
    input = input.subspan(2);
    const std::size_t length = std::min(claimed, input.size());
    if (!receive(session, input.first(length), now)) break;
    input = input.subspan(length);
    now += std::chrono::milliseconds(400);
  }
  return 0;
}
