#include "metadata/effective_config.h"

#include <gtest/gtest.h>

#include "metadata/metadata_test_support.h"

namespace barnabas::metadata {
namespace {

using namespace testing;

class EffectiveConfigs : public ::testing::Test {
 protected:
  EffectiveConfig of(const std::string& setting) {
    return effective_topic_config(*find_topic_config(setting), image->config(ConfigResourceType::topic, "t"),
                                  *image, NodeId{1}, config);
  }
  void set(ConfigResourceType type, std::string_view resource, std::string_view name,
           std::string_view value) {
    image = apply(*image, testing::config(type, resource, name, value)).image;
  }

  StaticConfig config;
  MetadataImagePtr image = std::make_shared<const MetadataImage>();
};

TEST_F(EffectiveConfigs, the_nearest_place_wins_and_the_others_are_synonyms_in_order) {
  ASSERT_TRUE(config.set("log.segment.bytes", "4000000", "test"));
  set(ConfigResourceType::broker, "", "log.segment.bytes", "3000000");
  set(ConfigResourceType::broker, "1", "log.segment.bytes", "2000000");
  set(ConfigResourceType::broker, "2", "log.segment.bytes", "9000000");
  set(ConfigResourceType::topic, "t", "segment.bytes", "1500000");
  const auto effective = of("segment.bytes");
  EXPECT_EQ(effective.value, "1500000");
  EXPECT_EQ(effective.source, ConfigSource::topic);
  EXPECT_EQ(effective.synonyms, (std::vector<ConfigValueAt>{
                                    {"segment.bytes", "1500000", ConfigSource::topic},
                                    {"log.segment.bytes", "2000000", ConfigSource::dynamic_broker},
                                    {"log.segment.bytes", "3000000", ConfigSource::dynamic_default_broker},
                                    {"log.segment.bytes", "4000000", ConfigSource::static_broker},
                                    {"log.segment.bytes", "1073741824", ConfigSource::default_config}}));
}

TEST_F(EffectiveConfigs, the_brokers_units_become_the_topics) {
  ASSERT_TRUE(config.set("log.retention.hours", "2", "test"));
  EXPECT_EQ(of("retention.ms").value, "7200000");
  ASSERT_TRUE(config.set("log.retention.minutes", "3", "test"));
  EXPECT_EQ(of("retention.ms").value, "180000");
  EXPECT_EQ(of("retention.ms").source, ConfigSource::static_broker);
  ASSERT_TRUE(config.set("log.retention.minutes", "-1", "test"));
  EXPECT_EQ(of("retention.ms").value, "-1");
}

TEST_F(EffectiveConfigs, nothing_set_is_the_default) {
  EXPECT_EQ(of("retention.ms").value, "604800000");
  EXPECT_EQ(of("retention.ms").source, ConfigSource::default_config);
  EXPECT_EQ(topic_config_in_force("cleanup.policy", "unknown", *image, NodeId{1}, config), "delete");
  EXPECT_EQ(topic_config_in_force("no.such.setting", "t", *image, NodeId{1}, config), std::nullopt);
}

}  // namespace
}  // namespace barnabas::metadata
