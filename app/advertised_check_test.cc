#include "app/advertised_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace barnabas::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> doubts(const std::string& listeners, const std::string& advertised) {
  metadata::StaticConfig config;
  EXPECT_TRUE(config.set("listeners", listeners, "test"));
  if (!advertised.empty()) {
    EXPECT_TRUE(config.set("advertised.listeners", advertised, "test"));
  }
  const auto parsed = parse_listeners(config);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return doubts_about_advertised(*parsed, [](const std::string& host) { return host != "gone.example"; });
}

TEST(AdvertisedCheck, has_no_doubts_about_what_can_be_reached) {
  EXPECT_THAT(doubts("PLAINTEXT://127.0.0.1:9092", ""), IsEmpty());
  EXPECT_THAT(doubts("PLAINTEXT://:9092", "PLAINTEXT://broker.example:9092"), IsEmpty());
}

TEST(AdvertisedCheck, tells_who_is_led_to_his_own_machine) {
  for (const char* host : {"localhost", "127.0.0.1", "[::1]"})
    EXPECT_THAT(doubts("PLAINTEXT://0.0.0.0:9092", std::string("PLAINTEXT://") + host + ":9092"),
                ElementsAre(HasSubstr("their own machine; set advertised.listeners")))
        << host;
}

TEST(AdvertisedCheck, tells_of_names_that_nobody_knows_and_of_addresses_that_nobody_listens_on) {
  EXPECT_THAT(doubts("PLAINTEXT://:9092", "PLAINTEXT://gone.example:9092"),
              ElementsAre(HasSubstr("PLAINTEXT://gone.example:9092, and this machine knows no such name")));
  EXPECT_THAT(doubts("PLAINTEXT://127.0.0.1:9092", "PLAINTEXT://broker.example:9092"),
              ElementsAre(HasSubstr("only 127.0.0.1 is listened on")));
}

}  // namespace
}  // namespace barnabas::app
