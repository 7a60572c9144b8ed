#include "metadata/static_config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "metadata/setting_effects.h"

namespace barnabas::metadata {
namespace {

TEST(StaticConfig, given_wins_over_default_and_the_last_given_wins) {
  StaticConfig config;
  EXPECT_EQ(config.integer("num.partitions"), 1);
  ASSERT_TRUE(config.set("num.partitions", "3", "server.properties:1"));
  ASSERT_TRUE(config.set("num.partitions", "4", "KAFKA_NUM_PARTITIONS"));
  EXPECT_EQ(config.integer("num.partitions"), 4);
  EXPECT_EQ(config.given("num.partitions")->origin, "KAFKA_NUM_PARTITIONS");
}

TEST(StaticConfig, unknown_name_is_refused_with_place_and_suggestion) {
  StaticConfig config;
  const auto result = config.set("num.partitons", "3", "server.properties:7");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("server.properties:7"), std::string::npos);
  EXPECT_NE(result.error().message.find("num.partitions"), std::string::npos);
}

TEST(StaticConfig, bad_value_is_refused_with_what_is_allowed) {
  StaticConfig config;
  const auto result = config.set("num.partitions", "0", "server.properties:7");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("server.properties:7"), std::string::npos);
  EXPECT_NE(result.error().message.find("[1,...]"), std::string::npos);
}

TEST(StaticConfig, overrides_of_connections_need_a_number) {
  StaticConfig config;
  EXPECT_TRUE(config.set("max.connections.per.ip.overrides", "127.0.0.1:5,localhost:0", "f:1"));
  for (const char* bad : {"127.0.0.1", "127.0.0.1:5,other", "127.0.0.1:x"}) {
    const auto result = config.set("max.connections.per.ip.overrides", bad, "server.properties:7");
    ASSERT_FALSE(result) << bad;
    EXPECT_NE(result.error().message.find("server.properties:7"), std::string::npos);
  }
}

TEST(StaticConfig, known_settings_without_effect_are_listed) {
  StaticConfig config;
  ASSERT_TRUE(config.set("num.io.threads", "3", "server.properties:1"));
  ASSERT_TRUE(config.set("num.partitions", "3", "server.properties:2"));
  ASSERT_EQ(config.without_effect().size(), 1U);
  EXPECT_NE(config.without_effect()[0].find("num.io.threads"), std::string::npos);
}

TEST(StaticConfig, topic_default_takes_the_first_broker_name_in_its_unit) {
  StaticConfig config;
  const ConfigDefinition& retention = *find_topic_config("retention.ms");
  EXPECT_EQ(topic_default(retention, config), "604800000");
  ASSERT_TRUE(config.set("log.retention.hours", "2", "f:1"));
  EXPECT_EQ(topic_default(retention, config), "7200000");
  ASSERT_TRUE(config.set("log.retention.minutes", "3", "f:2"));
  EXPECT_EQ(topic_default(retention, config), "180000");
  ASSERT_TRUE(config.set("log.retention.ms", "-1", "f:3"));
  EXPECT_EQ(topic_default(retention, config), "-1");
}

TEST(StaticConfig, the_page_on_settings_says_of_each_whether_it_has_an_effect) {
  std::ifstream in(std::string(BARNABAS_SOURCE_DIR) + "/docs/settings.md");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (const ConfigDefinition& definition : broker_configs()) {
    const bool listed = text.find("| `" + std::string(definition.name) + "`") != std::string::npos;
    EXPECT_EQ(listed, has_effect(definition.name)) << definition.name;
  }
  const std::string without = text.substr(text.find("## Without an effect"),
                                          text.find("## At run time") - text.find("## Without an effect"));
  for (const ConfigDefinition& definition : broker_configs()) {
    const std::string name = "`" + std::string(definition.name) + "`";
    bool listed = false;
    for (auto at = without.find(name); at != without.npos; at = without.find(name, at + 1))
      listed |= at < 6 || without.substr(at - 6, 6) != "topic ";
    if (definition.name == "min.insync.replicas") continue;  // explained there
    EXPECT_EQ(listed, !has_effect(definition.name)) << definition.name;
  }
  for (const ConfigDefinition& definition : topic_configs()) {
    const bool listed = without.find("topic `" + std::string(definition.name) + "`") != without.npos;
    EXPECT_EQ(listed, !has_effect(ConfigResourceType::topic, definition.name)) << definition.name;
  }
}

TEST(StaticConfig, an_error_repeats_no_value_that_may_be_a_secret) {
  StaticConfig config;
  for (const char* name :
       {"plain.sasl.jaas.config", "ssl.keystore.pasword.password", "delegation.token.secretkey",
        "sasl.jass.config", "listener.nam.a.plain.sasl.jass.config", "SASL.JASS.CONFIG",
        "ssl.trustore.pasword", "ssl.keystore.passwd", "delegation.tokn.sekret.kee", "user_alice", "username",
        "x", "a.name.that.is.like.no.other.at.all"})
    EXPECT_FALSE(config.set(name, "hunter2", "f:1").error().message.contains("hunter2")) << name;
  for (const char* value : {"x required username=me password=hunter2;", "https://me:hunter2@host/keys",
                            "PlainLoginModule required user_me=\"hunter2\" serviceSecret=x;"})
    EXPECT_FALSE(config.set("log.dirz", value, "f:1").error().message.contains("hunter2")) << value;
  const std::string message = config.set("log.dirz", "/tmp", "f:1").error().message;
  EXPECT_EQ(message, "f:1: unknown setting log.dirz (value \"/tmp\"); did you mean log.dir?");
}

TEST(StaticConfig, each_password_misspelt_keeps_its_value) {
  StaticConfig config;
  for (const ConfigDefinition& definition : broker_configs()) {
    if (definition.type != ConfigType::password) continue;
    const std::string name(definition.name);
    for (std::size_t at = 0; at < name.size(); at += 7) {
      std::string without = name;
      without.erase(at, 1);
      std::string other = name;
      other[at] = other[at] == 'q' ? 'z' : 'q';
      for (const std::string& wrong : {without, other, "plain." + other}) {
        const auto set = config.set(wrong, "hunter2", "f:1");
        ASSERT_FALSE(set) << wrong;
        EXPECT_FALSE(set.error().message.contains("hunter2")) << wrong;
      }
    }
  }
}

TEST(StaticConfig, settings_of_one_listener_have_an_effect_where_those_of_all_have) {
  for (const char* name :
       {"listener.name.a.max.connections", "listener.name.a.sasl.enabled.mechanisms",
        "listener.name.a.plain.sasl.jaas.config", "listener.name.a.plain.connections.max.reauth.ms"})
    EXPECT_TRUE(has_effect(name)) << name;
  for (const char* name : {"sasl.jaas.config", "listener.name.a.log.dirs", "listener.name.a",
                           "listener.name.", "listener.name.a.plain.max.connections"})
    EXPECT_FALSE(has_effect(name)) << name;
}

TEST(ConfigDefinitions, each_has_a_sentence) {
  for (const auto table : {broker_configs(), topic_configs(), group_configs(), client_metrics_configs()})
    for (const ConfigDefinition& definition : table)
      EXPECT_TRUE(std::string_view(definition.documentation).ends_with('.')) << definition.name;
}

}  // namespace
}  // namespace barnabas::metadata
