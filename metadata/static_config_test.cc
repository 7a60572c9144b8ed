#include "metadata/static_config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

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

TEST(StaticConfig, the_page_on_settings_lists_exactly_those_with_an_effect) {
  std::ifstream in(std::string(BARNABAS_SOURCE_DIR) + "/docs/settings.md");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (const ConfigDefinition& definition : broker_configs()) {
    const bool listed = text.find("| `" + std::string(definition.name) + "`") != std::string::npos;
    EXPECT_EQ(listed, has_effect(definition.name)) << definition.name;
  }
}

}  // namespace
}  // namespace barnabas::metadata
