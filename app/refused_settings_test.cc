#include "app/refused_settings.h"

#include "security/authorizer.h"

#include <gtest/gtest.h>

namespace barnabas::app {
namespace {

using Settings = std::initializer_list<std::pair<const char*, const char*>>;

/// What a start with these settings is refused with; empty when it is not.
std::string refusal(Settings settings) {
  metadata::StaticConfig config;
  int line = 0;
  for (const auto& [name, value] : settings) {
    const auto set = config.set(name, value, "server.properties:" + std::to_string(++line));
    EXPECT_TRUE(set) << set.error().message;
  }
  const auto checked = refuse_broken_promises(config, NodeId{1});
  return checked ? "" : checked.error().message;
}

TEST(RefusedSettings, file_of_a_combined_node_is_fine) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(
      refusal({{"process.roles", "broker,controller"}, {"controller.quorum.voters", "1@localhost:9093"}}),
      "");
  EXPECT_EQ(refusal({{"process.roles", "controller,broker"},
                     {"controller.quorum.bootstrap.servers", "localhost:9093"},
                     {"super.users", "User:admin"}}),
            "");
}

TEST(RefusedSettings, node_that_is_half_of_something_is_refused) {
  for (const char* roles : {"broker", "controller"})
    EXPECT_TRUE(refusal({{"process.roles", roles}})
                    .starts_with(std::string("server.properties:1: process.roles=") + roles))
        << refusal({{"process.roles", roles}});
}

TEST(RefusedSettings, quorum_of_others_is_refused) {
  for (const char* voters : {"2@localhost:9093", "11@localhost:9093", "1@a:9093,2@b:9093,3@c:9093"})
    EXPECT_NE(refusal({{"controller.quorum.voters", voters}}).find(voters), std::string::npos);
}

TEST(RefusedSettings, offsets_are_compressed_with_a_codec_that_exists) {
  EXPECT_EQ(refusal({{"offsets.topic.compression.codec", "4"}}), "");
  for (const char* codec : {"5", "-1"})
    EXPECT_NE(refusal({{"offsets.topic.compression.codec", codec}}).find("no such codec"), std::string::npos);
}

TEST(RefusedSettings, protection_that_cannot_be_given_is_refused_with_the_way_out) {
  for (const char* name :
       {"authorizer.class.name", "create.topic.policy.class.name", "alter.config.policy.class.name"}) {
    const std::string text = refusal({{name, "org.example.Guard"}});
    for (const std::string& part : {std::string("server.properties:1"), std::string("org.example.Guard"),
                                    std::string("--override ") + name + "="})
      EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(refusal({{name, ""}}), "") << "taken back";
  }
}

TEST(RefusedSettings, principals_are_made_as_kafka_makes_them) {
  EXPECT_EQ(refusal({{"principal.builder.class",
                      "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"}}),
            "");
  EXPECT_NE(refusal({{"principal.builder.class", "org.example.Builder"}}).find("org.example.Builder"),
            std::string::npos);
}

TEST(RefusedSettings, kafkas_own_authorizer_is_served_and_its_super_users_are_looked_at) {
  const char* standard = security::standard_authorizer_class.data();
  EXPECT_EQ(refusal({{"authorizer.class.name", standard}, {"super.users", "User:admin;User:CN=x"}}), "");
  const std::string bad = refusal({{"authorizer.class.name", standard}, {"super.users", "admin"}});
  EXPECT_NE(bad.find("super.users"), std::string::npos) << bad;
  EXPECT_NE(refusal({{"authorizer.class.name", "kafka.security.authorizer.AclAuthorizer"}}).find(standard),
            std::string::npos);
}

TEST(RefusedSettings, remote_storage_is_refused_only_when_it_is_on) {
  EXPECT_EQ(refusal({{"remote.log.storage.system.enable", "false"}}), "");
  EXPECT_NE(
      refusal({{"remote.log.storage.system.enable", "true"}}).find("remote.log.storage.system.enable=true"),
      std::string::npos);
}

}  // namespace
}  // namespace barnabas::app
