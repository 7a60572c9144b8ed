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
}

TEST(Listeners, an_advertised_address_that_no_client_anywhere_can_reach_is_refused_with_the_remedy) {
  const auto refusal = [](const std::string& host) {
    const std::string address = "PLAINTEXT://" + host + ":9092";
    const auto listeners = parse_listeners(
        config_of({{"listeners", "PLAINTEXT://:1"}, {"advertised.listeners", address.c_str()}}));
    return listeners ? std::string() : listeners.error().message;
  };
  const std::string long_label(64, 'a');
  for (const std::string& host :
       {std::string("0.0.0.0"), std::string("[::]"), std::string("224.0.0.1"), std::string("[ff02::1]"),
        std::string("255.255.255.255"), std::string("no.such.invalid"), std::string("broker..example"),
        std::string("my broker"), long_label + ".example"}) {
    EXPECT_NE(refusal(host).find("no address that a client can connect to"), std::string::npos) << host;
    EXPECT_NE(refusal(host).find("such as PLAINTEXT://" + local_host_name() + ":9092"), std::string::npos)
        << host;
  }
  // Names and networks of clients are not this machine's.
  for (const char* host :
       {"localhost", "10.0.0.1", "[2001:db8::1]", "broker_1", "broker.example.", "my.invalid.example"})
    EXPECT_EQ(refusal(host), "") << host;
}

}  // namespace
}  // namespace barnabas::app
