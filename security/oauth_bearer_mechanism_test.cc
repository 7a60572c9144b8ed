#include "security/oauth_bearer_mechanism.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace barnabas::security {
namespace {

using metadata::StaticConfig;
using testing::HasSubstr;

class NoKeys final : public TokenKeys {
 public:
  std::shared_ptr<const JsonWebKeySet> current() const override { return nullptr; }
  void look_again() override {}
};

using Settings = std::map<std::string, std::string>;

/// What is made of these settings of the listener, besides a whole set of them; "made" or why not.
struct Made {
  std::string outcome;
  std::optional<TokenKeyEndpoint> endpoint;
};

Made make(const Settings& own) {
  Settings settings{{"sasl.oauthbearer.jwks.endpoint.url", " https://issuer.example/keys "},
                    {"sasl.oauthbearer.expected.audience", "kafka, other"},
                    {"sasl.oauthbearer.expected.issuer", "https://issuer.example"}};
  for (const auto& [name, value] : own) settings[name] = value;
  StaticConfig config;
  for (const auto& [name, value] : settings) {
    if (value == "-") continue;
    EXPECT_TRUE(config.set("listener.name.clients.oauthbearer." + name, value, "file:1")) << name;
  }
  Made made;
  SaslSources sources;
  sources.token_keys = [&](const TokenKeyEndpoint& endpoint) -> Result<std::shared_ptr<TokenKeys>> {
    made.endpoint = endpoint;
    if (endpoint.url.starts_with("ftp"))
      return fail(ErrorKind::invalid, "expected a URL of https, http or file");
    return std::make_shared<NoKeys>();
  };
  const auto mechanism = make_sasl_mechanism(MechanismSettings(config, "CLIENTS", "OAUTHBEARER"), sources);
  made.outcome = mechanism ? "made" : mechanism.error().message;
  EXPECT_TRUE(!mechanism || (*mechanism)->begin() != nullptr);
  return made;
}

std::string outcome(const Settings& own) {
  return make(own).outcome;
}

TEST(OAuthBearerMechanism, reads_where_the_keys_are) {
  const auto made = make({{"sasl.oauthbearer.jwks.endpoint.refresh.ms", "5000"},
                          {"sasl.jaas.config",
                           "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                           "ssl.truststore.location=\"/etc/ca.pem\" ssl.truststore.type=PEM;"}});
  EXPECT_EQ(made.outcome, "made");
  EXPECT_EQ(made.endpoint, (TokenKeyEndpoint{.url = "https://issuer.example/keys",
                                             .refresh = std::chrono::milliseconds(5000),
                                             .trusted_certificates = "/etc/ca.pem"}));
}

TEST(OAuthBearerMechanism, needs_keys_an_audience_and_an_issuer_or_the_word_that_any_will_do) {
  EXPECT_THAT(outcome({{"sasl.oauthbearer.jwks.endpoint.url", "-"}}),
              HasSubstr("without a signature are not accepted"));
  EXPECT_THAT(outcome({{"sasl.oauthbearer.jwks.endpoint.url", "ftp://x"}}), HasSubstr("https, http or file"));
  EXPECT_THAT(outcome({{"sasl.oauthbearer.expected.audience", "-"}}),
              HasSubstr("allow.unverified.audience=true"));
  EXPECT_THAT(outcome({{"sasl.oauthbearer.expected.audience", ""}}),
              HasSubstr("allow.unverified.audience=true"));
  EXPECT_THAT(outcome({{"sasl.oauthbearer.expected.issuer", "-"}}),
              HasSubstr("allow.unverified.issuer=true"));
  EXPECT_EQ(outcome({{"sasl.oauthbearer.expected.audience", "-"},
                     {"sasl.oauthbearer.expected.issuer", " "},
                     {"sasl.oauthbearer.allow.unverified.audience", "true"},
                     {"sasl.oauthbearer.allow.unverified.issuer", "true"}}),
            "made");
}

TEST(OAuthBearerMechanism, classes_are_kafkas_own_or_refused) {
  const std::string handler = "sasl.server.callback.handler.class";
  const std::string kafkas = "org.apache.kafka.common.security.oauthbearer.";
  EXPECT_EQ(outcome({{handler, kafkas + "OAuthBearerValidatorCallbackHandler"}}), "made");
  EXPECT_EQ(outcome({{handler, kafkas + "secured.OAuthBearerValidatorCallbackHandler"}}), "made");
  EXPECT_THAT(outcome({{handler, "com.example.Handler"}}), HasSubstr("no class of Java's"));
  EXPECT_EQ(outcome({{"sasl.oauthbearer.jwt.validator.class", kafkas + "BrokerJwtValidator"}}), "made");
  EXPECT_THAT(outcome({{"sasl.oauthbearer.jwt.validator.class", kafkas + "ClientJwtValidator"}}),
              HasSubstr("no class of Java's"));
}

TEST(OAuthBearerMechanism, refuses_options_that_would_have_no_effect) {
  const auto with = [](const std::string& options) {
    return outcome({{"sasl.jaas.config", "OAuthBearerLoginModule required " + options + ";"}});
  };
  EXPECT_EQ(with(""), "made");
  EXPECT_EQ(with("clientId=x clientSecret=y"), "made") << "for a broker that is a client of others";
  EXPECT_EQ(with("unsecuredLoginStringClaim_sub=admin"), "made") << "which Kafka wants beside other options";
  EXPECT_THAT(with("unsecuredValidatorPrincipalClaimName=x"), HasSubstr("not accepted"));
  EXPECT_THAT(with("ssl.truststore.location=\"/x.jks\""), HasSubstr("PEM"));
  EXPECT_THAT(with("ssl.truststore.location=\"/x.jks\" ssl.truststore.type=JKS"), HasSubstr("PEM"));
  EXPECT_THAT(with("ssl.truststore.password=secret"), HasSubstr("PEM"));
  EXPECT_THAT(outcome({{"sasl.jaas.config", "x.Other required;"}}), HasSubstr("OAuthBearerLoginModule"));
}

TEST(OAuthBearerMechanism, refuses_numbers_and_names_that_make_no_sense) {
  EXPECT_THAT(outcome({{"sasl.oauthbearer.clock.skew.seconds", "-1"}}), HasSubstr("at least 0"));
  EXPECT_THAT(outcome({{"sasl.oauthbearer.clock.skew.seconds", "soon"}}), HasSubstr("number"));
  EXPECT_THAT(outcome({{"sasl.oauthbearer.jwks.endpoint.refresh.ms", "0"}}), HasSubstr("at least 1"));
  EXPECT_THAT(outcome({{"sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", "-1"}}), HasSubstr("at least 0"));
  EXPECT_THAT(outcome({{"sasl.oauthbearer.sub.claim.name", " "}}), HasSubstr("name of a claim"));
}

}  // namespace
}  // namespace barnabas::security
