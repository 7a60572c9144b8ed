#include "security/kerberos_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "security/kerberos_mechanism.h"
#include "security/test_key_table.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace barnabas::security {
namespace {

using testing::HasSubstr;
using State = SaslStep::State;

constexpr TimestampMs now{0};

std::vector<std::byte> bytes(std::string_view text) {
  const ByteView view = as_byte_view(text);
  return {view.begin(), view.end()};
}

/// A context that does what the test says; what is wrapped has "wrapped:" in front.
class ScriptedContext final : public GssContext {
 public:
  ScriptedContext(std::deque<Step> steps, std::string who) : steps_(std::move(steps)), who_(std::move(who)) {}

  Result<Step> accept(ByteView token) override {
    if (as_text(token) == "bad" || steps_.empty()) return fail(ErrorKind::invalid, "bad token");
    Step step = steps_.front();
    if (steps_.size() > 1 || step.established) steps_.pop_front();
    return step;
  }
  Result<std::vector<std::byte>> wrap(ByteView message) override {
    return bytes("wrapped:" + std::string(as_text(message)));
  }
  Result<std::vector<std::byte>> unwrap(ByteView message) override {
    const std::string text(as_text(message));
    if (!text.starts_with("wrapped:")) return fail(ErrorKind::invalid, "bad seal");
    return bytes(text.substr(8));
  }
  Result<std::string> initiator() const override {
    if (who_.empty()) return fail(ErrorKind::invalid, "nobody");
    return who_;
  }

 private:
  std::deque<Step> steps_;
  std::string who_;
};

const std::string offer("wrapped:\x01\x01\0\0", 12);
const std::string no_layer("wrapped:\x01\0\0\0", 12);

class Kerberos : public testing::Test {
 protected:
  KerberosExchange exchange(std::deque<GssContext::Step> steps, std::string who = "alice@REALM") const {
    return {rules_, std::make_unique<ScriptedContext>(std::move(steps), std::move(who))};
  }
  /// After the layers were offered.
  KerberosExchange offered(std::string who = "alice@REALM") const {
    auto it = exchange({{.established = true}}, std::move(who));
    EXPECT_EQ(as_text(say(it, "token").bytes), offer);
    return it;
  }
  static SaslStep say(KerberosExchange& exchange, std::string_view message) {
    return exchange.respond(as_byte_view(message), now);
  }

  KerberosRules rules_ = KerberosRules::parse({"DEFAULT"}, "REALM").value();
};

TEST_F(Kerberos, with_mutual_authentication_the_client_takes_a_token_first) {
  auto it = exchange({{.token = bytes("reply"), .established = true}});
  auto step = say(it, "token");
  EXPECT_EQ(step.state, State::challenge);
  EXPECT_EQ(as_text(step.bytes), "reply");
  step = say(it, "");
  EXPECT_EQ(step.state, State::challenge);
  EXPECT_EQ(as_text(step.bytes), offer);
  step = say(it, no_layer);
  EXPECT_EQ(step.state, State::complete) << step.reason;
  EXPECT_TRUE(step.bytes.empty());
  EXPECT_EQ(it.principal().to_string(), "User:alice");
  EXPECT_EQ(it.expires_at(), std::nullopt);
  EXPECT_TRUE(it.may_block());
}

TEST_F(Kerberos, without_it_the_layers_are_offered_at_once) {
  auto it = offered();
  EXPECT_EQ(say(it, no_layer).state, State::complete);
}

TEST_F(Kerberos, an_authorization_id_changes_nothing) {
  auto it = offered();
  EXPECT_EQ(say(it, no_layer + "root").state, State::complete);
  EXPECT_EQ(it.principal().name, "alice");
}

TEST_F(Kerberos, a_token_that_is_not_accepted_fails_without_a_word_to_the_client) {
  auto it = exchange({{.established = true}});
  const auto step = say(it, "bad");
  EXPECT_EQ(step.state, State::failed);
  EXPECT_EQ(step.message, "");
  EXPECT_EQ(step.reason, "bad token");
}

TEST_F(Kerberos, a_context_must_come_to_an_end) {
  auto it = exchange({{.token = bytes("more"), .established = false}});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(say(it, "token").state, State::challenge);
  EXPECT_EQ(say(it, "token").state, State::failed);
}

TEST_F(Kerberos, nothing_but_an_empty_message_follows_the_context) {
  auto it = exchange({{.token = bytes("reply"), .established = true}});
  say(it, "token");
  EXPECT_EQ(say(it, no_layer).state, State::failed);
}

TEST_F(Kerberos, only_the_offered_layer_may_be_chosen_and_sealed_it_must_be) {
  for (const std::string& choice :
       {std::string("wrapped:\x02\0\0\0", 12), std::string("wrapped:\x04\0\0\0", 12),
        std::string("wrapped:\0\0\0\0", 12), std::string("wrapped:\x07\0\0\0", 12),
        std::string("wrapped:\x01\0\0", 11), std::string("wrapped:"), std::string("\x01\0\0\0", 4),
        std::string()}) {
    auto it = offered();
    EXPECT_EQ(say(it, choice).state, State::failed) << choice;
  }
}

TEST_F(Kerberos, who_has_no_local_name_does_not_get_in) {
  for (const auto* who : {"alice@OTHER", "a/b/c@REALM", "@REALM", ""}) {
    auto it = offered(who);
    const auto step = say(it, no_layer);
    EXPECT_EQ(step.state, State::failed) << who;
    EXPECT_EQ(step.message, "");
  }
}

/// The real library with a key table that nobody else has the keys of.
class KerberosLibrary : public testing::Test {
 protected:
  KerberosLibrary() {
    directory_ = std::filesystem::temp_directory_path() / ("kerberos-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory_);
    std::ofstream(table(), std::ios::binary) << test::key_table("kafka", "broker.example", "EXAMPLE.COM");
    std::ofstream(directory_ / "krb5.conf")
        << "[libdefaults]\n  default_realm = EXAMPLE.COM\n  dns_lookup_kdc = false\n";
    ::setenv("KRB5_CONFIG", (directory_ / "krb5.conf").c_str(), 1);
  }
  ~KerberosLibrary() override { std::filesystem::remove_all(directory_); }

  std::string table() const { return directory_ / "table"; }
  std::string make(const std::string& jaas, const std::map<std::string, std::string>& more = {}) const {
    metadata::StaticConfig config;
    EXPECT_TRUE(config.set("listener.name.clients.gssapi.sasl.jaas.config", jaas, "file:1"));
    for (const auto& [name, value] : more) EXPECT_TRUE(config.set(name, value, "file:2"));
    const auto made = make_sasl_mechanism(MechanismSettings(config, "CLIENTS", "GSSAPI"), {});
    return made ? "made" : made.error().message;
  }
  std::string module(const std::string& principal, const std::string& more = "") const {
    return "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab=\"" +
           table() + "\" principal=\"" + principal + "\"" + more + ";";
  }

  std::filesystem::path directory_;
};

/// MIT Kerberos 1.20 leaks the principal whose key it doesn't find; nothing of ours may.
struct LeakOfTheLibrary {
#ifdef __SANITIZE_ADDRESS__
  LeakOfTheLibrary() { __lsan_disable(); }
  ~LeakOfTheLibrary() { __lsan_enable(); }
#endif
};

TEST_F(KerberosLibrary, takes_the_key_of_its_principal_from_the_table) {
  EXPECT_EQ(make(module("kafka/broker.example@EXAMPLE.COM")), "made");
  EXPECT_EQ(make(module("kafka/broker.example")), "made") << "in the default realm";
  [[maybe_unused]] const LeakOfTheLibrary leak;
  EXPECT_THAT(make(module("kafka/other.example@EXAMPLE.COM")), HasSubstr("key table: "));
  std::filesystem::remove(table());
  EXPECT_THAT(make(module("kafka/broker.example@EXAMPLE.COM")), HasSubstr("key table: "));
}

TEST_F(KerberosLibrary, refuses_settings_that_make_no_sense) {
  const std::string principal = "kafka/broker.example@EXAMPLE.COM";
  EXPECT_THAT(make("Krb5LoginModule required principal=\"" + principal + "\";"), HasSubstr("useKeyTab=true"));
  EXPECT_THAT(make("Krb5LoginModule required useKeyTab=true keyTab=\"" + table() + "\";"),
              HasSubstr("principal"));
  EXPECT_THAT(make(module("*")), HasSubstr("principal"));
  EXPECT_THAT(make(module(principal, " colour=blue")), HasSubstr("option colour"));
  EXPECT_THAT(make("x.PlainLoginModule required;"), HasSubstr("Krb5LoginModule"));
  EXPECT_THAT(make(module(principal, " serviceName=kafka"), {{"sasl.kerberos.service.name", "other"}}),
              HasSubstr("another service"));
  EXPECT_THAT(make(module(principal), {{"sasl.kerberos.principal.to.local.rules", "RULE:[1:$2]"}}),
              HasSubstr("rule"));
  EXPECT_EQ(
      make(module(principal, " serviceName=kafka debug=true"), {{"sasl.kerberos.service.name", "kafka"}}),
      "made");
}

TEST_F(KerberosLibrary, hostile_tokens_are_refused_with_a_reason) {
  const auto acceptor = open_kerberos_acceptor("kafka/broker.example@EXAMPLE.COM", table());
  ASSERT_TRUE(acceptor) << acceptor.error().message;
  const auto rules = KerberosRules::parse({"DEFAULT"}, "EXAMPLE.COM").value();
  std::vector<std::string> tokens{"",
                                  "\x60",
                                  std::string("\x60\x84\xFF\xFF\xFF\xFF", 6),
                                  std::string(100'000, '\x60'),
                                  std::string(100, '\0'),
                                  "NTLMSSP"};
  // Kerberos' and SPNEGO's object identifiers, then nothing of worth.
  tokens.emplace_back("\x60\x0D\x06\x09\x2A\x86\x48\x86\xF7\x12\x01\x02\x02\x01\x00", 15);
  tokens.emplace_back("\x60\x0B\x06\x06\x2B\x06\x01\x05\x05\x02\xA0\x01\x30", 13);
  for (const std::string& token : tokens) {
    KerberosExchange exchange(rules, (*acceptor)->begin());
    const auto step = exchange.respond(as_byte_view(token), now);
    EXPECT_EQ(step.state, State::failed);
    EXPECT_FALSE(step.reason.empty());
  }
}

TEST_F(KerberosLibrary, knows_the_default_realm) {
  EXPECT_EQ(default_kerberos_realm().value(), "EXAMPLE.COM");
}

}  // namespace
}  // namespace barnabas::security
