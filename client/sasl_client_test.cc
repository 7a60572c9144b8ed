#include "client/sasl_client.h"

#include <gtest/gtest.h>

#include <vector>

namespace barnabas::client {
namespace {

/// The example of RFC 7677.
ConnectionSettings rfc_settings() {
  ConnectionSettings settings;
  settings.mechanism = "SCRAM-SHA-256";
  settings.user = "user";
  settings.password = "pencil";
  return settings;
}
constexpr const char* rfc_nonce = "rOprNGfwEbeRWgbNEkqO";
constexpr const char* rfc_first =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
constexpr const char* rfc_final = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

/// Plays the broker: answers in order, and keeps what it was sent.
struct Script {
  std::vector<std::string> answers;
  std::vector<std::string> sent{};
  SaslRound round() {
    return [this](std::string_view message) -> Result<std::string> {
      sent.emplace_back(message);
      return answers.at(sent.size() - 1);
    };
  }
};

TEST(SaslClient, plain_sends_user_and_password) {
  ConnectionSettings settings = rfc_settings();
  settings.mechanism = "PLAIN";
  Script script{{""}};
  ASSERT_TRUE(log_in(settings, "", script.round()));
  using namespace std::string_literals;
  EXPECT_EQ(script.sent, std::vector{"\0user\0pencil"s});
}

TEST(SaslClient, scram_makes_the_messages_of_the_rfc) {
  Script script{{rfc_first, rfc_final}};
  const auto done = log_in(rfc_settings(), rfc_nonce, script.round());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(script.sent[0], "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
  EXPECT_EQ(script.sent[1],
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+"
            "Ute9ytag9zjfMHgsqmmiz7AndVQ=");
}

TEST(SaslClient, names_are_escaped) {
  ConnectionSettings settings = rfc_settings();
  settings.user = "a=b,c";
  Script script{{"e=other-error"}};
  EXPECT_FALSE(log_in(settings, rfc_nonce, script.round()));
  EXPECT_EQ(script.sent[0], "n,,n=a=3Db=2Cc,r=rOprNGfwEbeRWgbNEkqO");
}

TEST(SaslClient, a_broker_that_does_not_know_the_password_is_refused) {
  Script script{{rfc_first, "v=AAAATRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="}};
  EXPECT_FALSE(log_in(rfc_settings(), rfc_nonce, script.round()));
}

TEST(SaslClient, malformed_challenges_are_refused_before_the_password_is_used) {
  for (const char* challenge :
       {"", "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "r=rOprNGfwEbeRWgbNEkqOxyz,s=*,i=4096",
        "r=rOprNGfwEbeRWgbNEkqOxyz,i=4096", "r=rOprNGfwEbeRWgbNEkqOxyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1",
        "r=rOprNGfwEbeRWgbNEkqOxyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=2000000000", "e=unknown-user"}) {
    Script script{{challenge}};
    EXPECT_FALSE(log_in(rfc_settings(), rfc_nonce, script.round())) << challenge;
    EXPECT_EQ(script.sent.size(), 1U) << challenge;
  }
}

}  // namespace
}  // namespace barnabas::client
