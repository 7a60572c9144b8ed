#include "metadata/resource_configs.h"

#include <gtest/gtest.h>

#include "metadata/dynamic_broker_config.h"
#include "metadata/effective_broker_config.h"
#include "metadata/java_pattern.h"

namespace barnabas::metadata {
namespace {

constexpr NodeId node{1};

ConfigImage group(std::string name, std::string value) {
  return {{ConfigResourceType::group, "g"}, {{std::move(name), std::move(value)}}};
}

MetadataImage with_default(std::string name, std::string value) {
  MetadataImage image;
  image.configs.put(std::make_shared<const ConfigImage>(
      ConfigImage{{ConfigResourceType::broker, ""}, {{std::move(name), std::move(value)}}}));
  return image;
}

TEST(GroupConfigs, the_brokers_settings_bound_those_of_groups) {
  StaticConfig config;
  EXPECT_FALSE(validate_group_configs(group("consumer.session.timeout.ms", "60001"), {}, node, config));
  ASSERT_TRUE(config.set("group.consumer.max.session.timeout.ms", "70000", "f:1"));
  EXPECT_TRUE(validate_group_configs(group("consumer.session.timeout.ms", "60001"), {}, node, config));
  EXPECT_FALSE(validate_group_configs(group("consumer.session.timeout.ms", "70001"), {}, node, config));
}

TEST(GroupConfigs, a_session_is_longer_than_a_heartbeat) {
  StaticConfig config;
  ASSERT_TRUE(config.set("group.consumer.max.heartbeat.interval.ms", "50000", "f:1"));
  EXPECT_FALSE(validate_group_configs(group("consumer.heartbeat.interval.ms", "45000"), {}, node, config));
  EXPECT_TRUE(validate_group_configs(group("consumer.heartbeat.interval.ms", "44999"), {}, node, config));
}

TEST(JavaPattern, what_java_compiles_is_a_pattern) {
  for (const char* good : {"",      "a",     "a|b|",       "(a(b)c)*", "(?<n1>a)\\k<n1>",
                           "(?:a)", "(?=a)", "(?<!a)b",    "(?i-s)x",  "(?i:x)",
                           "a{2}",  "a{2,}", "a{2,3}+",    "a*?",      "[a-z&&[^b]]",
                           "[]a]",  "[^]]",  "[\\]]",      "\\Q(\\E",  "\\p{Lu}",
                           "\\pL",  "\\x41", "\\x{1F600}", "\\u0041",  "\\07",
                           "\\cA",  "^$.",   "}",          "]"})
    EXPECT_TRUE(is_java_pattern(good)) << good;
  for (const char* bad :
       {"(",   ")",  "a)",  "[",    "[]",     "[a",      "*",    "a|*",    "a{1",   "a{x}", "a{3,2}",
        "a**", "\\", "\\y", "\\x4", "(?<>a)", "(?<1>a)", "(?z)", "\\p{Lu", "[z-a]", "a{-1}"})
    EXPECT_FALSE(is_java_pattern(bad)) << bad;
  EXPECT_FALSE(is_java_pattern(std::string(100'000, '('))) << "and the stack is left whole";
  EXPECT_FALSE(is_java_pattern(std::string(100'000, '[')));
}

TEST(JavaDuration, iso_durations_without_months) {
  for (const char* good : {"P1D", "PT1H", "pt1h2m3.5s", "P2DT3H", "PT0.000000001S"})
    EXPECT_TRUE(is_java_duration(good)) << good;
  for (const char* bad : {"", "P", "PT", "1H", "P1M", "P1DT", "PT1H1H", "PTS", "PT1X", "PT-1H"})
    EXPECT_FALSE(is_java_duration(bad)) << bad;
}

TEST(CanonicalConfig, values_are_shown_as_java_would_print_them) {
  const auto shown = [](std::string_view name, std::string_view value) {
    return canonical_config(*find_topic_config(name), value);
  };
  EXPECT_EQ(shown("retention.ms", " +05 "), "5");
  EXPECT_EQ(shown("preallocate", " TRUE"), "true");
  EXPECT_EQ(shown("cleanup.policy", "compact , delete,compact"), "compact,delete");
  EXPECT_EQ(shown("min.cleanable.dirty.ratio", "1"), "1.0");
  EXPECT_EQ(shown("min.cleanable.dirty.ratio", "1e-5"), "1.0E-5");
  EXPECT_EQ(shown("min.cleanable.dirty.ratio", "0.25f"), "0.25");
  const ConfigDefinition& bytes = *find_broker_config("log.cleaner.io.max.bytes.per.second");
  EXPECT_EQ(canonical_config(bytes, bytes.default_value), "1.7976931348623157E308");
  EXPECT_EQ(canonical_config(bytes, "10000000"), "1.0E7");
}

TEST(DynamicBrokerConfig, thread_counts_at_most_double_or_halve) {
  const StaticConfig config;
  const auto check = [&](const MetadataImage& image, std::string value) {
    return validate_dynamic_broker_configs({{"num.io.threads", std::move(value)}}, false, image, node, config)
        .has_value();
  };
  EXPECT_TRUE(check({}, "16"));
  EXPECT_FALSE(check({}, "17"));
  EXPECT_TRUE(check({}, "4"));
  EXPECT_FALSE(check({}, "3"));
  EXPECT_TRUE(check(with_default("num.io.threads", "16"), "32"));
}

TEST(DynamicBrokerConfig, overrides_of_connections_are_host_and_number) {
  const auto good = parse_connection_overrides(" 127.0.0.1:5 ,[::1]:0, host:7");
  ASSERT_TRUE(good);
  ASSERT_EQ(good->size(), 3U);
  EXPECT_EQ((*good)[1].host, "[::1]");
  EXPECT_EQ((*good)[2].count, 7);
  for (const char* bad : {"127.0.0.1", "host:", "host:x", ":5", "host:5x", "a:1,b", "host:99999999999"})
    EXPECT_FALSE(parse_connection_overrides(bad)) << bad;
}

TEST(EffectiveBrokerConfig, a_dynamic_value_that_breaks_the_rules_counts_as_not_set) {
  const StaticConfig config;
  const MetadataImage broken = with_default("log.segment.bytes", "1");
  EXPECT_EQ(BrokerConfigView(broken, node, config).integer("log.segment.bytes"), 1 << 30);
  const MetadataImage good = with_default("log.segment.bytes", "2000000");
  EXPECT_EQ(BrokerConfigView(good, node, config).integer("log.segment.bytes"), 2'000'000);
}

TEST(EffectiveBrokerConfig, broker_id_is_the_nodes_id) {
  const StaticConfig config;
  EXPECT_EQ(BrokerConfigView({}, NodeId{7}, config).value("broker.id"), "7");
}

}  // namespace
}  // namespace barnabas::metadata
