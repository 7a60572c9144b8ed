#include "broker/handlers/handlers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "broker/handlers/table_on_page.h"
#include "protocol/api.h"

namespace barnabas::broker {
namespace {

std::string versions(int16_t low, int16_t high) {
  return std::to_string(low) + "–" + std::to_string(high);
}

std::string table_from_the_code() {
  std::string table = "| key | API | versions | in Kafka 4.4 |\n|---:|---|---|---|\n";
  for (const HandlerEntry& handler : all_handlers()) {
    const protocol::ApiInfo& info = protocol::api_info(handler.api);
    const auto key = std::to_string(static_cast<int>(handler.api));
    table += "| " + key + " | " + std::string(info.name) + " | " +
             versions(handler.min_version, handler.max_version) + " | " +
             versions(info.min_version, info.max_version) + " |\n";
  }
  return table;
}

TEST(Handlers, every_stable_version_that_kafka_serves_is_served) {
  for (const HandlerEntry& handler : all_handlers()) {
    const protocol::ApiInfo& info = protocol::api_info(handler.api);
    EXPECT_TRUE(info.on_broker_listener) << info.name;
    EXPECT_EQ(handler.min_version, info.min_version) << info.name;
    EXPECT_EQ(handler.max_version, info.max_version - (info.latest_version_unstable ? 1 : 0)) << info.name;
  }
}

TEST(Handlers, readme_shows_the_table_of_the_code) {
  testing::expect_table_on_page("README.md", "apis", table_from_the_code());
}

}  // namespace
}  // namespace barnabas::broker
