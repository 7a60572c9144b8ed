#include "metadata/config_definitions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "metadata/static_config.h"

namespace barnabas::metadata {
namespace {

bool accepts(std::string_view name, std::optional<std::string_view> value) {
  const ConfigDefinition* definition = find_broker_config(name);
  EXPECT_NE(definition, nullptr) << name;
  return definition != nullptr && validate_config(*definition, value).has_value();
}

TEST(ConfigDefinitions, tables_hold_every_name_of_kafka) {
  EXPECT_GE(broker_configs().size(), 379U);
  EXPECT_EQ(topic_configs().size(), 38U);
  EXPECT_TRUE(std::ranges::is_sorted(broker_configs(), {}, &ConfigDefinition::name));
}

TEST(ConfigDefinitions, every_default_is_valid_by_its_own_rules) {
  for (const auto table : {broker_configs(), topic_configs(), group_configs()})
    for (const ConfigDefinition& definition : table)
      if (definition.default_value != nullptr && !definition.internal &&
          definition.name != "controller.quorum.voters" &&
          definition.name != "controller.quorum.bootstrap.servers") {
        const auto valid = validate_config(definition, definition.default_value);
        EXPECT_TRUE(valid) << valid.error().message;
      }
}

TEST(ConfigDefinitions, numbers_are_checked_against_type_and_bounds) {
  EXPECT_TRUE(accepts("num.partitions", "3"));
  EXPECT_FALSE(accepts("num.partitions", "0"));
  EXPECT_FALSE(accepts("num.partitions", "three"));
  EXPECT_FALSE(accepts("num.partitions", "3x"));
  EXPECT_FALSE(accepts("num.partitions", "4294967296"));
  EXPECT_TRUE(accepts("num.partitions", " 3 "));
  EXPECT_TRUE(accepts("compression.gzip.level", "-1"));
  EXPECT_FALSE(accepts("compression.gzip.level", "0"));
  EXPECT_FALSE(accepts("compression.gzip.level", "10"));
  EXPECT_TRUE(accepts("log.cleaner.min.cleanable.ratio", "0.25"));
  EXPECT_FALSE(accepts("log.cleaner.min.cleanable.ratio", "1.5"));
}

TEST(ConfigDefinitions, enumerations_and_lists_are_checked_item_by_item) {
  EXPECT_TRUE(validate_topic_config("cleanup.policy", "compact,delete"));
  EXPECT_FALSE(validate_topic_config("cleanup.policy", "compact,purge"));
  EXPECT_FALSE(validate_topic_config("compression.type", "brotli"));
  EXPECT_TRUE(validate_topic_config("message.timestamp.type", "LogAppendTime"));
  EXPECT_FALSE(validate_topic_config("message.timestamp.type", "logappendtime"));
  EXPECT_TRUE(validate_topic_config("leader.replication.throttled.replicas", "0:1,1:2"));
  EXPECT_TRUE(validate_topic_config("leader.replication.throttled.replicas", "*"));
  EXPECT_FALSE(validate_topic_config("leader.replication.throttled.replicas", "0-1"));
}

TEST(ConfigDefinitions, no_documentation_denies_what_a_setting_does) {
  for (const ConfigDefinition& definition : broker_configs()) {
    const std::string_view text = definition.documentation;
    if (!has_effect(definition.name) || text.find("a start is refused") != text.npos) continue;
    for (const std::string_view denial : {"this version does not", "this version has no", "without effect"})
      EXPECT_EQ(text.find(denial), text.npos) << definition.name << ": " << text;
  }
}

TEST(ConfigDefinitions, null_and_unknown_are_refused) {
  EXPECT_FALSE(validate_topic_config("retention.ms", std::nullopt));
  EXPECT_FALSE(validate_topic_config("retention.msec", "1"));
}

TEST(ConfigDefinitions, a_slip_of_the_pen_finds_the_right_name) {
  EXPECT_EQ(nearest_broker_config("log.dir.s"), "log.dirs");
  EXPECT_EQ(nearest_broker_config("num.partition"), "num.partitions");
  EXPECT_EQ(nearest_broker_config("completely.different.thing.altogether"), "");
}

TEST(JavaInteger, is_what_integer_parse_int_takes) {
  for (const auto& [text, value] : {std::pair{"0", 0},
                                    {"5", 5},
                                    {"+5", 5},
                                    {"-5", -5},
                                    {"007", 7},
                                    {"+00", 0},
                                    {"-0", 0},
                                    {"2147483647", 2147483647},
                                    {"-2147483648", INT32_MIN}})
    EXPECT_EQ(java_integer(text), value) << text;
  for (const char* text : {"", "+", "-", "+-5", "-+5", "++5", "--5", " 5", "5 ", "5x", "0x5", "5.0", "1e3",
                           "1_000", "2147483648", "-2147483649", "99999999999999999999"})
    EXPECT_EQ(java_integer(text), std::nullopt) << text;
  EXPECT_EQ(java_integer(std::string_view("5\0", 2)), std::nullopt);
}

}  // namespace
}  // namespace barnabas::metadata
