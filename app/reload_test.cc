#include "app/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metadata/metadata_test_support.h"

namespace barnabas::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(in_force.set("log.dirs", "/d", "f:1"));
    ASSERT_TRUE(in_force.set("max.connections", "7", "f:2"));
    ASSERT_TRUE(in_force.set("log.retention.ms", "1000", "f:3"));
    wanted = in_force;
  }
  Reload plan() const { return plan_reload(in_force, wanted, image, NodeId{1}); }

  metadata::StaticConfig in_force;
  metadata::StaticConfig wanted;
  metadata::MetadataImage image;
};

TEST_F(ReloadTest, of_the_same_settings_is_nothing) {
  ASSERT_TRUE(wanted.set("max.connections", "7", "f:20"));
  EXPECT_THAT(plan().now, IsEmpty());
  EXPECT_THAT(plan().restart, IsEmpty());
}

TEST_F(ReloadTest, takes_over_what_kafka_changes_at_run_time_and_leaves_the_rest_to_a_restart) {
  wanted.forget("log.retention.ms");
  ASSERT_TRUE(wanted.set("max.connections", "8", "f:2"));
  ASSERT_TRUE(wanted.set("log.dirs", "/e", "f:1"));
  ASSERT_TRUE(wanted.set("num.network.threads", "9", "f:4"));
  ASSERT_TRUE(wanted.set("listener.name.tls.ssl.keystore.location", "/s.p12", "f:5"));
  ASSERT_TRUE(wanted.set("ssl.keystore.location", "/s.p12", "f:6"));
  EXPECT_THAT(plan().now,
              ElementsAre("listener.name.tls.ssl.keystore.location", "log.retention.ms", "max.connections"));
  EXPECT_THAT(plan().restart, ElementsAre("log.dirs", "num.network.threads", "ssl.keystore.location"));
  EXPECT_THAT(plan().refused, IsEmpty());
}

TEST_F(ReloadTest, does_not_promise_what_has_no_effect) {
  ASSERT_TRUE(wanted.set("num.io.threads", "5", "f:7"));
  EXPECT_THAT(plan().without_effect, ElementsAre("num.io.threads"));
  EXPECT_THAT(plan().restart, IsEmpty());
  EXPECT_THAT(plan().now, IsEmpty());
}

TEST_F(ReloadTest, refuses_what_kafka_would_refuse_at_run_time) {
  ASSERT_TRUE(wanted.set("log.cleaner.threads", "50", "f:4"));
  EXPECT_THAT(plan().refused, ElementsAre(HasSubstr("f:4: log.cleaner.threads")));
  EXPECT_THAT(plan().now, IsEmpty());
}

TEST_F(ReloadTest, says_what_a_dynamic_value_hides) {
  image = *metadata::testing::apply(image, metadata::testing::config(metadata::ConfigResourceType::broker,
                                                                     "1", "max.connections", "9"))
               .image;
  ASSERT_TRUE(wanted.set("max.connections", "8", "f:2"));
  EXPECT_THAT(plan().now, ElementsAre("max.connections"));
  EXPECT_THAT(plan().hidden, ElementsAre("max.connections"));
}

TEST_F(ReloadTest, taken_over_are_the_planned_settings_and_no_others) {
  ASSERT_TRUE(wanted.set("max.connections", "8", "f:2"));
  ASSERT_TRUE(wanted.set("log.dirs", "/e", "f:1"));
  const auto* before = in_force.given("max.connections");
  in_force.take_over(wanted, plan().now);
  EXPECT_EQ(in_force.integer("max.connections"), 8);
  EXPECT_EQ(in_force.text("log.dirs"), "/d");
  EXPECT_EQ(before->value, "7") << "what a reader was given stays";
}

}  // namespace
}  // namespace barnabas::app
