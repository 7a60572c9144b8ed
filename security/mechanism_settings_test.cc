#include "security/mechanism_settings.h"

#include <gtest/gtest.h>

#include "security/sasl_mechanism.h"

namespace barnabas::security {
namespace {

using metadata::StaticConfig;

StaticConfig with(const std::vector<std::pair<std::string, std::string>>& settings) {
  StaticConfig config;
  int line = 0;
  for (const auto& [name, value] : settings)
    EXPECT_TRUE(config.set(name, value, "server.properties:" + std::to_string(++line)));
  return config;
}

const std::string plain_jaas = "listener.name.clients.plain.sasl.jaas.config";

TEST(MechanismSettings, the_longest_prefix_wins) {
  const auto config = with({{"connections.max.reauth.ms", "1"},
                            {"listener.name.clients.connections.max.reauth.ms", "2"},
                            {"listener.name.clients.scram-sha-256.connections.max.reauth.ms", "3"}});
  EXPECT_EQ(MechanismSettings(config, "CLIENTS", "SCRAM-SHA-256").integer("connections.max.reauth.ms"), 3);
  EXPECT_EQ(MechanismSettings(config, "CLIENTS", "PLAIN").integer("connections.max.reauth.ms"), 2);
  EXPECT_EQ(MechanismSettings(config, "OTHERS", "PLAIN").integer("connections.max.reauth.ms"), 1);
  EXPECT_EQ(MechanismSettings(config, "OTHERS", "PLAIN").integer("sasl.server.max.receive.size"), 524288);
}

TEST(MechanismSettings, a_bad_number_is_refused_with_its_place) {
  const auto config = with({{"listener.name.clients.plain.connections.max.reauth.ms", "soon"}});
  EXPECT_EQ(
      MechanismSettings(config, "CLIENTS", "PLAIN").integer("connections.max.reauth.ms").error().message,
      "server.properties:1: listener.name.clients.plain.connections.max.reauth.ms: expected a number");
}

TEST(MechanismSettings, a_login_module_is_looked_for_under_both_names_only) {
  const auto config =
      with({{"sasl.jaas.config", "M required;"}, {plain_jaas, "a.b.PlainLoginModule required;"}});
  EXPECT_TRUE(MechanismSettings(config, "clients", "PLAIN").login_module("PlainLoginModule"));
  EXPECT_EQ(MechanismSettings(config, "clients", "SCRAM-SHA-256").login_module().value(), std::nullopt);
  const auto error =
      MechanismSettings(config, "others", "PLAIN").login_module("PlainLoginModule").error().message;
  EXPECT_NE(error.find("listener.name.others.plain.sasl.jaas.config: not set"), std::string::npos) << error;
  EXPECT_NE(error.find("server.properties:1: sasl.jaas.config"), std::string::npos) << error;
}

std::string making(const StaticConfig& config, std::string_view mechanism) {
  const auto made = make_sasl_mechanism(MechanismSettings(config, "CLIENTS", mechanism), {});
  return made ? "made" : made.error().message;
}

TEST(SaslMechanisms, plain_needs_its_login_module_with_users) {
  EXPECT_EQ(making(with({{plain_jaas, "PlainLoginModule required user_alice=\"x\";"}}), "PLAIN"), "made");
  EXPECT_EQ(making(with({{plain_jaas, "PlainLoginModule required username=\"x\";"}}), "PLAIN"),
            "server.properties:1: " + plain_jaas +
                ": no user, so nobody could log in; expected options like user_alice=\"<password>\"");
  EXPECT_EQ(making(with({{plain_jaas, "x.Evil required user_alice=\"y\";"}}), "PLAIN"),
            "server.properties:1: " + plain_jaas +
                ": the login module is x.Evil; expected PlainLoginModule required …;");
  EXPECT_EQ(making(with({{plain_jaas, "PlainLoginModule required"}}), "PLAIN"),
            "server.properties:1: " + plain_jaas +
                ": character 26: the end, expected ; behind the last option of the module");
}

TEST(SaslMechanisms, scram_needs_no_login_module) {
  EXPECT_EQ(making(with({}), "SCRAM-SHA-256"), "made");
  EXPECT_EQ(making(with({}), "SCRAM-SHA-512"), "made");
}

TEST(SaslMechanisms, unknown_ones_and_classes_of_java_are_refused) {
  EXPECT_NE(making(with({}), "plain").find("no mechanism plain; expected some of "), std::string::npos);
  EXPECT_NE(making(with({{"listener.name.clients.scram-sha-256.sasl.server.callback.handler.class", "X"}}),
                   "SCRAM-SHA-256")
                .find("a class of Java's cannot run here"),
            std::string::npos);
}

}  // namespace
}  // namespace barnabas::security
