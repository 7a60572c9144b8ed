#include "security/plain_mechanism.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/assert.h"

namespace barnabas::security {
namespace {

constexpr std::string_view user_prefix = "user_";

/// Equal without telling by the time it takes how far two texts agree, nor which is longer.
bool equal_in_constant_time(std::string_view left, std::string_view right) {
  using Digest = std::array<unsigned char, 32>;
  const auto digest = [](std::string_view text) {
    Digest result{};
    std::size_t length = result.size();
    const int done =
        EVP_Q_digest(nullptr, "SHA256", nullptr, text.data(), text.size(), result.data(), &length);
    BARNABAS_ASSERT(done == 1);
    return result;
  };
  const Digest a = digest(left);
  const Digest b = digest(right);
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// authorization id, name and password; Kafka counts no further than four parts.
std::vector<std::string_view> parts_of(std::string_view message) {
  constexpr std::size_t parts_max = 4;
  std::vector<std::string_view> parts;
  while (parts.size() < parts_max) {
    const auto zero = message.find('\0');
    parts.push_back(message.substr(0, zero));
    if (zero == message.npos) break;
    message.remove_prefix(zero + 1);
  }
  return parts;
}

class PlainExchange final : public SaslExchange {
 public:
  explicit PlainExchange(const PlainUsers& users) : users_(users) {}

  SaslStep respond(ByteView message, TimestampMs) override {
    const auto parts = parts_of(as_text(message));
    if (parts.size() != 3)
      return refuse("Invalid SASL/PLAIN response: expected 3 tokens, got " + std::to_string(parts.size()));
    const auto [as_whom, name, password] = std::array{parts[0], parts[1], parts[2]};
    if (name.empty()) return refuse("Authentication failed: username not specified");
    if (password.empty()) return refuse("Authentication failed: password not specified");
    const auto user = users_.find(name);
    // An unknown user takes as long as a known one.
    const bool right = equal_in_constant_time(password, user == users_.end() ? "" : user->second);
    if (!right || user == users_.end()) return refuse("Authentication failed: Invalid username or password");
    if (!as_whom.empty() && as_whom != name)
      return refuse(
          "Authentication failed: Client requested an authorization id that is different from username");
    principal_.name = name;
    return {.state = SaslStep::State::complete};
  }

  Principal principal() const override { return principal_; }

 private:
  static SaslStep refuse(std::string message) { return {.message = std::move(message)}; }

  const PlainUsers& users_;
  Principal principal_;
};

}  // namespace

std::unique_ptr<SaslExchange> PlainMechanism::begin() const {
  return std::make_unique<PlainExchange>(users_);
}

Result<std::unique_ptr<SaslMechanism>> make_plain_mechanism(const MechanismSettings& settings,
                                                            const SaslSources&) {
  if (settings.given("sasl.server.callback.handler.class"))
    return settings.refuse(
        "sasl.server.callback.handler.class",
        "a class of Java's cannot run here; the users of PLAIN are user_<name>=\"<password>\" "
        "in " +
            settings.full_name("sasl.jaas.config"));
  BARNABAS_ASSIGN(const LoginModule module, settings.login_module("PlainLoginModule"));
  PlainUsers users;
  for (const auto& [key, value] : module.options)
    if (key.starts_with(user_prefix)) users.emplace(key.substr(user_prefix.size()), value);
  if (users.empty())
    return settings.refuse(
        "sasl.jaas.config",
        "no user, so nobody could log in; expected options like user_alice=\"<password>\"");
  return std::make_unique<PlainMechanism>(std::move(users));
}

}  // namespace barnabas::security
