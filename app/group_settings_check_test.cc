#include "app/group_settings_check.h"

#include <gtest/gtest.h>

namespace barnabas::app {
namespace {

using Settings = std::initializer_list<std::pair<const char*, const char*>>;

std::string refusal(Settings settings) {
  metadata::StaticConfig config;
  int line = 0;
  for (const auto& [name, value] : settings) {
    const auto set = config.set(name, value, "server.properties:" + std::to_string(++line));
    EXPECT_TRUE(set) << set.error().message;
  }
  const auto checked = check_group_settings(config);
  return checked ? "" : checked.error().message;
}

TEST(GroupSettingsCheck, defaults_and_what_fits_together_are_fine) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"group.consumer.min.session.timeout.ms", "500"},
                     {"group.consumer.session.timeout.ms", "600"},
                     {"group.consumer.min.heartbeat.interval.ms", "100"},
                     {"group.consumer.heartbeat.interval.ms", "599"}}),
            "");
}

TEST(GroupSettingsCheck, bounds_that_contradict_a_value_are_refused_where_they_were_set) {
  EXPECT_EQ(
      refusal({{"group.consumer.session.timeout.ms", "1000"}}),
      "server.properties:1: group.consumer.session.timeout.ms=1000: group.consumer.session.timeout.ms must "
      "be greater than or equal to group.consumer.min.session.timeout.ms");
  EXPECT_NE(refusal({{"group.consumer.max.heartbeat.interval.ms", "4000"}}), "");
  EXPECT_NE(refusal({{"group.consumer.assignment.interval.ms", "20000"}}), "");
  EXPECT_NE(refusal({{"group.consumer.max.heartbeat.interval.ms", "50000"},
                     {"group.consumer.heartbeat.interval.ms", "45000"}}),
            "");
}

TEST(GroupSettingsCheck, assignors_are_those_that_are_here_by_name_or_by_the_class_of_Kafka) {
  EXPECT_EQ(refusal({{"group.consumer.assignors",
                      "range,org.apache.kafka.coordinator.group.assignor.UniformAssignor"}}),
            "");
  EXPECT_NE(refusal({{"group.consumer.assignors", "uniform,com.example.Mine"}}).find("com.example.Mine"),
            std::string::npos);
}

TEST(GroupSettingsCheck, the_classic_protocol_stays) {
  EXPECT_NE(refusal({{"group.coordinator.rebalance.protocols", "consumer"}}), "");
  EXPECT_EQ(refusal({{"group.coordinator.rebalance.protocols", "classic"}}), "");
}

}  // namespace
}  // namespace barnabas::app
