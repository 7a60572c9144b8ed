#include "app/listeners.h"

#include <gtest/gtest.h>

namespace barnabas::app {
namespace {

metadata::StaticConfig config_of(std::initializer_list<std::pair<const char*, const char*>> settings) {
  metadata::StaticConfig config;
  for (const auto& [name, value] : settings) {
    const auto set = config.set(name, value, "test");
    EXPECT_TRUE(set) << set.error().message;
  }
  return config;
}

TEST(Listeners, every_listener_is_bound_and_advertised_as_it_says) {
  const auto listeners =
      parse_listeners(config_of({{"listeners", "PLAINTEXT://127.0.0.1:9092,TC-0://[::1]:0"},
                                 {"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,TC-0:PLAINTEXT"}}));
  ASSERT_TRUE(listeners) << listeners.error().message;
  ASSERT_EQ(listeners->bind.size(), 2U);
  EXPECT_EQ(listeners->bind[1].name, "TC-0");
  EXPECT_EQ(listeners->bind[1].host, "::1");
  EXPECT_EQ(listeners->advertised[0].host, "127.0.0.1");
  EXPECT_EQ(listeners->advertised[0].port, 9092);
}

TEST(Listeners, advertised_addresses_win_and_wildcards_become_the_host_name) {
  const auto listeners =
      parse_listeners(config_of({{"listeners", "A://0.0.0.0:1,B://:2"},
                                 {"advertised.listeners", "B://broker.example:9999"},
                                 {"listener.security.protocol.map", "A:PLAINTEXT,B:PLAINTEXT"}}));
  ASSERT_TRUE(listeners) << listeners.error().message;
  EXPECT_EQ(listeners->advertised[0].host, local_host_name());
  EXPECT_EQ(listeners->advertised[1].host, "broker.example");
  EXPECT_EQ(listeners->advertised[1].port, 9999);
}

TEST(Listeners, the_controllers_listener_is_left_alone) {
  const auto listeners =
      parse_listeners(config_of({{"listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"},
                                 {"controller.listener.names", "CONTROLLER"},
                                 {"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"}}));
  ASSERT_TRUE(listeners) << listeners.error().message;
  EXPECT_EQ(listeners->bind.size(), 1U);
  EXPECT_EQ(listeners->controller_only, std::vector<std::string>{"CONTROLLER"});
}

TEST(Listeners, what_cannot_be_served_is_refused_with_the_reason) {
  const auto refused = [](std::initializer_list<std::pair<const char*, const char*>> settings) {
    const auto listeners = parse_listeners(config_of(settings));
    return listeners ? std::string() : listeners.error().message;
  };
  EXPECT_NE(refused({{"listeners", "PLAINTEXT://host"}}).find("NAME://host:port"), std::string::npos);
  EXPECT_NE(refused({{"listeners", "PLAINTEXT://:70000"}}).find("65535"), std::string::npos);
  EXPECT_NE(refused({{"listeners", "MINE://:9092"}}).find("listener.security.protocol.map"),
            std::string::npos);
  EXPECT_NE(refused({{"listeners", "PLAINTEXT://:1,PLAINTEXT://:2"}}).find("twice"), std::string::npos);
  EXPECT_NE(refused({{"listeners", "PLAINTEXT://:1"}, {"advertised.listeners", "PLAINTEXT://0.0.0.0:1"}})
                .find("connect"),
            std::string::npos);
}

}  // namespace
}  // namespace barnabas::app
