#include "broker/telemetry/subscriptions.h"

#include <gmock/gmock.h>

namespace barnabas::broker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void set(metadata::MetadataImage& image, const std::string& name,
         std::map<std::string, std::string, std::less<>> values) {
  image.configs.put(std::make_shared<const metadata::ConfigImage>(
      metadata::ConfigImage{{metadata::ConfigResourceType::client_metrics, name}, std::move(values)}));
}

const TelemetryClient java{"orders-1", "apache-kafka-java", "4.4.0", "192.0.2.7", 40312};

class SubscriptionsTest : public testing::Test {
 protected:
  TelemetryWish wish(const TelemetryClient& client = java) const {
    return TelemetrySubscriptions(image).of(instance, client);
  }
  std::vector<std::string> wished_when(const std::string& match) {
    set(image, "one", {{"metrics", "a"}, {"match", match}});
    return wish().metrics;
  }

  metadata::MetadataImage image;
  Uuid instance = Uuid::random();
};

TEST_F(SubscriptionsTest, without_any_a_client_is_asked_for_nothing_every_five_minutes) {
  EXPECT_THAT(wish().metrics, IsEmpty());
  EXPECT_EQ(wish().interval_ms, 300'000);
}

TEST_F(SubscriptionsTest, several_are_the_union_of_their_metrics_and_the_shortest_interval) {
  set(image, "one", {{"metrics", "b,a"}, {"interval.ms", "60000"}});
  set(image, "other", {{"metrics", "a,c"}, {"interval.ms", "1000"}});
  EXPECT_THAT(wish().metrics, ElementsAre("a", "b", "c"));
  EXPECT_EQ(wish().interval_ms, 1000);
}

TEST_F(SubscriptionsTest, all_metrics_swallow_the_others) {
  set(image, "one", {{"metrics", "a"}});
  set(image, "other", {{"metrics", "*"}});
  EXPECT_THAT(wish().metrics, ElementsAre("*"));
}

TEST_F(SubscriptionsTest, an_interval_above_five_minutes_is_five_minutes) {
  set(image, "one", {{"metrics", "a"}, {"interval.ms", "3600000"}});
  EXPECT_EQ(wish().interval_ms, 300'000);
}

TEST_F(SubscriptionsTest, patterns_match_whole_properties_and_all_of_them) {
  EXPECT_THAT(wished_when("client_id=orders-.*"), ElementsAre("a"));
  EXPECT_THAT(wished_when("client_id=orders"), IsEmpty());
  EXPECT_THAT(wished_when("client_software_name=apache-kafka-.*, client_software_version=4\\.4.*"),
              ElementsAre("a"));
  EXPECT_THAT(wished_when("client_software_name=apache-kafka-.*,client_software_version=3.*"), IsEmpty());
  EXPECT_THAT(wished_when("client_source_address=192\\.0\\.2\\..*"), ElementsAre("a"));
  EXPECT_THAT(wished_when("client_source_port=40312"), ElementsAre("a"));
  EXPECT_THAT(wished_when("client_instance_id=" + instance.to_string()), ElementsAre("a"));
}

TEST_F(SubscriptionsTest, a_pattern_that_only_java_knows_matches_nobody) {
  EXPECT_THAT(wished_when("client_id=(?=orders).*"), IsEmpty());
}

TEST_F(SubscriptionsTest, settings_of_other_resources_are_no_subscriptions) {
  image.configs.put(std::make_shared<const metadata::ConfigImage>(
      metadata::ConfigImage{{metadata::ConfigResourceType::group, "group"}, {{"metrics", "*"}}}));
  EXPECT_THAT(wish().metrics, IsEmpty());
}

TEST_F(SubscriptionsTest, an_id_names_wish_and_client) {
  const TelemetryWish one{{"a", "b"}, 1000};
  EXPECT_EQ(subscription_id(one, instance), subscription_id(one, instance));
  EXPECT_NE(subscription_id(one, instance), subscription_id({{"a", "b"}, 1001}, instance));
  EXPECT_NE(subscription_id(one, instance), subscription_id({{"a"}, 1000}, instance));
  EXPECT_NE(subscription_id(one, instance), subscription_id(one, Uuid::random()));
}

}  // namespace
}  // namespace barnabas::broker
