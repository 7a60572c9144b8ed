#include "app/exposure.h"

#include <gtest/gtest.h>

namespace barnabas::app {
namespace {

using security::SecurityProtocol;

std::optional<std::string> warning(std::vector<network::ListenerConfig> listeners,
                                   std::vector<std::pair<std::string, std::string>> settings = {}) {
  metadata::StaticConfig config;
  for (const auto& [name, value] : settings) EXPECT_TRUE(config.set(name, value, "test"));
  return exposure_warning(listeners, config);
}

TEST(Exposure, loopback_needs_no_warning) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "0:0:0:0:0:0:0:1", "localhost"})
    EXPECT_EQ(warning({{"PLAINTEXT", SecurityProtocol::plaintext, host, 9092}}), std::nullopt) << host;
  // A name, whoever has it.
  EXPECT_TRUE(warning({{"PLAINTEXT", SecurityProtocol::plaintext, "127.0.0.1.example", 9092}}));
}

TEST(Exposure, a_plaintext_listener_elsewhere_is_named_with_the_three_steps) {
  const auto line = warning({{"LOCAL", SecurityProtocol::plaintext, "127.0.0.1", 9091},
                             {"A", SecurityProtocol::plaintext, "", 9092},
                             {"B", SecurityProtocol::plaintext, "192.0.2.7", 9093}});
  ASSERT_TRUE(line);
  EXPECT_NE(line->find("A://0.0.0.0:9092, B://192.0.2.7:9093"), std::string::npos) << *line;
  EXPECT_EQ(line->find("LOCAL"), std::string::npos);
  for (const char* step : {"1. ", "2. ", "3. ", "docs/security.md"})
    EXPECT_NE(line->find(step), std::string::npos) << step;
  EXPECT_EQ(line->find('\n'), std::string::npos);
}

TEST(Exposure, encryption_alone_does_not_say_who_it_is) {
  const std::vector<network::ListenerConfig> ssl{{"SSL", SecurityProtocol::ssl, "0.0.0.0", 9093}};
  EXPECT_TRUE(warning(ssl));
  EXPECT_TRUE(warning(ssl, {{"ssl.client.auth", "requested"}}));
  EXPECT_EQ(warning(ssl, {{"ssl.client.auth", "required"}}), std::nullopt);
  EXPECT_EQ(warning(ssl, {{"listener.name.ssl.ssl.client.auth", "required"}}), std::nullopt);
  EXPECT_TRUE(
      warning(ssl, {{"ssl.client.auth", "required"}, {"listener.name.ssl.ssl.client.auth", "requested"}}));
}

TEST(Exposure, sasl_asks_everybody) {
  EXPECT_EQ(
      warning({{"A", SecurityProtocol::sasl_plaintext, "", 1}, {"B", SecurityProtocol::sasl_ssl, "", 2}}),
      std::nullopt);
}

TEST(Exposure, metrics_for_everybody_are_warned_of_with_their_address) {
  EXPECT_EQ(http_exposure_warning({}), std::nullopt);
  EXPECT_EQ(http_exposure_warning({"127.0.0.1:9644", "[::1]:9644", "localhost:1"}), std::nullopt);
  for (const char* address :
       {"0.0.0.0:9644", "[::]:9644", "*:9644", ":9644", "192.0.2.7:80", "metrics.example:1"}) {
    const auto line = http_exposure_warning({"127.0.0.1:9644", address});
    ASSERT_TRUE(line) << address;
    EXPECT_NE(line->find(std::string("http://") + address), std::string::npos) << *line;
    EXPECT_EQ(line->find("127.0.0.1:9644 "), std::string::npos) << *line;
  }
}

}  // namespace
}  // namespace barnabas::app
