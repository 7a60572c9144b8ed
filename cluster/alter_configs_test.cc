#include <gtest/gtest.h>

#include "cluster/controller_test_support.h"

namespace barnabas::cluster {
namespace {

using metadata::ConfigResourceType;
using protocol::ErrorCode;
using protocol::to_wire;
using Request = protocol::IncrementalAlterConfigsRequest;
enum Operation : int8_t { set = 0, remove = 1, append = 2, subtract = 3 };

struct Change {
  std::string_view name;
  int8_t operation = set;
  std::optional<std::string_view> value;
};

class AlterConfigs : public testing::ControllerTest {
 protected:
  AlterConfigs() { create({topic("t"), topic("u")}); }

  static Request request(ConfigResourceType type, std::string_view name, const std::vector<Change>& changes) {
    Request request;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = static_cast<int8_t>(type);
    resource.resource_name = protocol::String(name);
    for (const Change& change : changes) {
      auto& config = resource.configs.emplace_back();
      config.name = protocol::String(change.name);
      config.config_operation = change.operation;
      config.value.reset();
      if (change.value) config.value = protocol::String(*change.value);
    }
    return request;
  }

  int16_t alter(ConfigResourceType type, std::string_view name, const std::vector<Change>& changes) {
    const auto response = done(controller_.incremental_alter_configs(request(type, name, changes), state()));
    EXPECT_EQ(response.responses.size(), 1U);
    return response.responses.front().error_code;
  }

  int16_t replace(ConfigResourceType type, std::string_view name,
                  const std::vector<std::pair<std::string_view, std::string_view>>& values) {
    protocol::AlterConfigsRequest request;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = static_cast<int8_t>(type);
    resource.resource_name = protocol::String(name);
    for (const auto& [key, value] : values) {
      auto& item = resource.configs.emplace_back();
      item.name = protocol::String(key);
      item.value = protocol::String(value);
    }
    return done(controller_.alter_configs(request, state())).responses.front().error_code;
  }

  std::map<std::string, std::string, std::less<>> values(ConfigResourceType type,
                                                         std::string_view name) const {
    const auto* found = image->config(type, name);
    return found == nullptr ? std::map<std::string, std::string, std::less<>>() : found->values;
  }
};

constexpr int config_record = 4;
constexpr int clear_elr_record = 28;

TEST_F(AlterConfigs, sets_and_deletes_what_is_named_only) {
  EXPECT_EQ(alter(ConfigResourceType::topic, "t", {{"flush.ms", set, "5"}, {"segment.ms", set, "7"}}), 0);
  EXPECT_EQ(alter(ConfigResourceType::topic, "t", {{"flush.ms", remove, {}}, {"retention.ms", set, "9"}}), 0);
  const auto now = values(ConfigResourceType::topic, "t");
  EXPECT_EQ(now.size(), 2U);
  EXPECT_EQ(now.at("segment.ms"), "7");
  EXPECT_EQ(now.at("retention.ms"), "9");
  EXPECT_TRUE(values(ConfigResourceType::topic, "u").empty());
}

TEST_F(AlterConfigs, what_stays_as_it_is_makes_no_record_but_for_brokers) {
  EXPECT_EQ(alter(ConfigResourceType::topic, "t", {{"flush.ms", set, "5"}}), 0);
  EXPECT_EQ(alter(ConfigResourceType::topic, "t", {{"flush.ms", set, "5"}, {"nope", remove, {}}}), 0);
  EXPECT_TRUE(record_types.empty());
  EXPECT_EQ(alter(ConfigResourceType::broker, "", {{"log.roll.ms", set, "5"}}), 0);
  EXPECT_EQ(alter(ConfigResourceType::broker, "", {{"log.roll.ms", set, "5"}}), 0);
  EXPECT_EQ(record_types, std::vector<int>{config_record});
}

TEST_F(AlterConfigs, one_bad_value_keeps_the_whole_resource_as_it_was) {
  EXPECT_EQ(alter(ConfigResourceType::topic, "t", {{"flush.ms", set, "5"}, {"segment.ms", set, "x"}}),
            to_wire(ErrorCode::invalid_config));
  EXPECT_TRUE(record_types.empty());
  EXPECT_TRUE(values(ConfigResourceType::topic, "t").empty());
}

TEST_F(AlterConfigs, lists_start_from_the_default) {
  EXPECT_EQ(alter(ConfigResourceType::topic, "t", {{"cleanup.policy", append, "compact,compact"}}), 0);
  EXPECT_EQ(values(ConfigResourceType::topic, "t").at("cleanup.policy"), "delete,compact");
  EXPECT_EQ(alter(ConfigResourceType::topic, "t", {{"cleanup.policy", subtract, "delete,nothing"}}), 0);
  EXPECT_EQ(values(ConfigResourceType::topic, "t").at("cleanup.policy"), "compact");
  EXPECT_EQ(alter(ConfigResourceType::topic, "t", {{"flush.ms", append, "1"}}),
            to_wire(ErrorCode::invalid_config));
}

TEST_F(AlterConfigs, a_change_of_min_insync_replicas_clears_eligible_leaders) {
  EXPECT_EQ(alter(ConfigResourceType::topic, "t", {{"min.insync.replicas", set, "2"}}), 0);
  EXPECT_EQ(record_types, (std::vector<int>{config_record, clear_elr_record}));
  EXPECT_EQ(alter(ConfigResourceType::broker, "", {{"min.insync.replicas", set, "2"}}), 0);
  EXPECT_EQ(record_types, (std::vector<int>{config_record, clear_elr_record}));
  EXPECT_EQ(alter(ConfigResourceType::broker, "", {{"min.insync.replicas", remove, {}}}),
            to_wire(ErrorCode::invalid_config));
  EXPECT_EQ(alter(ConfigResourceType::broker, "1", {{"min.insync.replicas", set, "2"}}),
            to_wire(ErrorCode::invalid_config));
  EXPECT_EQ(replace(ConfigResourceType::broker, "", {}), to_wire(ErrorCode::invalid_config));
  EXPECT_EQ(replace(ConfigResourceType::topic, "t", {}), 0);
  EXPECT_EQ(record_types, (std::vector<int>{config_record, clear_elr_record}));
}

TEST_F(AlterConfigs, replacing_removes_what_is_not_named) {
  EXPECT_EQ(replace(ConfigResourceType::topic, "t", {{"flush.ms", "5"}, {"segment.ms", "7"}}), 0);
  EXPECT_EQ(replace(ConfigResourceType::topic, "t", {{"segment.ms", "7"}, {"retention.ms", "9"}}), 0);
  const auto now = values(ConfigResourceType::topic, "t");
  EXPECT_EQ(now.size(), 2U);
  EXPECT_FALSE(now.contains("flush.ms"));
  EXPECT_EQ(record_types.size(), 2U) << "segment.ms is the same";
}

TEST_F(AlterConfigs, the_last_setting_of_a_resource_takes_the_resource_with_it) {
  EXPECT_EQ(alter(ConfigResourceType::client_metrics, "m", {{"interval.ms", set, "1000"}}), 0);
  EXPECT_NE(image->config(ConfigResourceType::client_metrics, "m"), nullptr);
  EXPECT_EQ(alter(ConfigResourceType::client_metrics, "m", {{"interval.ms", remove, {}}}), 0);
  EXPECT_EQ(image->config(ConfigResourceType::client_metrics, "m"), nullptr);
}

TEST_F(AlterConfigs, brokers_that_are_not_registered_have_no_settings) {
  EXPECT_EQ(alter(ConfigResourceType::broker, "1", {{"log.roll.ms", set, "5"}}), 0);
  EXPECT_EQ(alter(ConfigResourceType::broker, "7", {{"log.roll.ms", set, "5"}}),
            to_wire(ErrorCode::broker_id_not_registered));
  EXPECT_EQ(alter(ConfigResourceType::broker, "x", {{"log.roll.ms", set, "5"}}),
            to_wire(ErrorCode::invalid_request));
  EXPECT_EQ(alter(ConfigResourceType::broker, "-1", {{"log.roll.ms", set, "5"}}),
            to_wire(ErrorCode::invalid_request));
}

TEST_F(AlterConfigs, each_resource_has_its_own_fate) {
  Request both = request(ConfigResourceType::topic, "t", {{"flush.ms", set, "5"}});
  both.resources.push_back(request(ConfigResourceType::topic, "gone", {}).resources.front());
  both.resources.push_back(request(ConfigResourceType::topic, "u", {{"flush.ms", 9, "5"}}).resources.front());
  const auto response = done(controller_.incremental_alter_configs(both, state()));
  EXPECT_EQ(response.responses[0].error_code, 0);
  EXPECT_EQ(response.responses[1].error_code, to_wire(ErrorCode::unknown_topic_or_partition));
  EXPECT_EQ(response.responses[2].error_code, to_wire(ErrorCode::invalid_request));
  EXPECT_EQ(values(ConfigResourceType::topic, "t").size(), 1U);
}

TEST_F(AlterConfigs, a_mere_check_makes_no_records) {
  Request check = request(ConfigResourceType::topic, "t", {{"flush.ms", set, "5"}});
  check.validate_only = true;
  EXPECT_EQ(done(controller_.incremental_alter_configs(check, state())).responses.front().error_code, 0);
  EXPECT_TRUE(record_types.empty());
}

}  // namespace
}  // namespace barnabas::cluster
