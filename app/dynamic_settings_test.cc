#include "app/dynamic_settings.h"

#include <gtest/gtest.h>

#include "app/connection_limits.h"
#include "metadata/metadata_test_support.h"

namespace barnabas::app {
namespace {

class DynamicSettingsTest : public ::testing::Test {
 protected:
  void set(std::string_view resource, std::string_view name, std::optional<std::string_view> value) {
    auto next = metadata::testing::apply(
        *publisher.current(),
        metadata::testing::config(metadata::ConfigResourceType::broker, resource, name, value));
    publisher.publish(next.changes, next.image);
  }

  metadata::ImagePublisher publisher;
  metadata::StaticConfig config;
};

TEST_F(DynamicSettingsTest, followers_hear_of_what_changes_their_values_and_of_nothing_else) {
  ASSERT_TRUE(config.set("max.connections", "7", "f:1"));
  DynamicSettings settings(publisher, NodeId{1}, config);
  std::vector<int64_t> heard;
  settings.follow({"max.connections"}, [&](const metadata::BrokerConfigView& view) {
    heard.push_back(view.integer("max.connections"));
  });
  EXPECT_EQ(heard, std::vector<int64_t>{7}) << "at once";
  set("", "max.connections", "8");
  set("1", "max.connections", "9");
  set("", "max.connections", "10");
  set("2", "max.connections", "11");
  set("1", "num.io.threads", "4");
  set("1", "max.connections", "nonsense");
  set("", "max.connections", std::nullopt);
  EXPECT_EQ(heard, (std::vector<int64_t>{7, 8, 9, 10, 7}));
}

TEST_F(DynamicSettingsTest, what_was_set_before_is_in_force_from_the_beginning) {
  set("", "max.connections", "8");
  DynamicSettings settings(publisher, NodeId{1}, config);
  int64_t heard = 0;
  settings.follow({"max.connections"},
                  [&](const metadata::BrokerConfigView& view) { heard = view.integer("max.connections"); });
  EXPECT_EQ(heard, 8);
}

TEST_F(DynamicSettingsTest, limits_on_connections_are_read_with_their_overrides) {
  set("", "max.connections.per.ip", "3");
  set("", "max.connections.per.ip.overrides", "127.0.0.1:5, [::1]:6,localhost:7");
  set("1", "listener.name.plaintext.max.connections", "2");
  const auto image = publisher.current();
  const metadata::BrokerConfigView view(*image, NodeId{1}, config);
  network::ListenerConfig listener;
  listener.name = "PLAINTEXT";
  auto limits = connection_limits(view, {listener});
  EXPECT_EQ(limits.per_address, 3U);
  EXPECT_EQ(limits.of_address.at("::1"), 6U);
  EXPECT_EQ(limits.of_address.at("127.0.0.1"), 5U);
  EXPECT_EQ(limits.of_listener.at("PLAINTEXT"), 2U);
  const std::string overrides = view.text("max.connections.per.ip.overrides");
  EXPECT_TRUE(has_host_names(overrides));
  EXPECT_FALSE(has_host_names("127.0.0.1:5,[::1]:6"));
  add_host_names(limits, overrides);
  EXPECT_EQ(limits.of_address.at("127.0.0.1"), 7U);
}

}  // namespace
}  // namespace barnabas::app
