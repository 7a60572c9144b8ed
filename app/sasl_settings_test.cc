#include "app/sasl_settings.h"

#include <gtest/gtest.h>

namespace barnabas::app {
namespace {

using network::ListenerConfig;
using security::SecurityProtocol;
using Settings = std::vector<std::pair<std::string, std::string>>;

const std::vector<ListenerConfig> listeners{{"PLAINTEXT", SecurityProtocol::plaintext},
                                            {"CLIENTS", SecurityProtocol::sasl_plaintext},
                                            {"OTHERS", SecurityProtocol::sasl_ssl}};

metadata::StaticConfig config_of(const Settings& settings) {
  metadata::StaticConfig config;
  for (const auto& [name, value] : settings)
    EXPECT_TRUE(config.set(name, value, "server.properties:1")) << name;
  return config;
}
std::string refusal(const Settings& settings) {
  const auto config = config_of(settings);
  const auto read = sasl_listeners(config, listeners, {});
  return read ? "" : read.error().message;
}

const Settings good{
    {"sasl.enabled.mechanisms", "SCRAM-SHA-256,SCRAM-SHA-512"},
    {"connections.max.reauth.ms", "5000"},
    {"listener.name.clients.sasl.enabled.mechanisms", "PLAIN, SCRAM-SHA-512"},
    {"listener.name.clients.plain.sasl.jaas.config", "PlainLoginModule required user_alice=\"x\";"},
    {"listener.name.clients.plain.connections.max.reauth.ms", "2000"},
    {"listener.name.clients.sasl.server.max.receive.size", "1000"},
};

TEST(SaslSettings, every_listener_has_its_own) {
  const auto config = config_of(good);
  const auto read = sasl_listeners(config, listeners, {});
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  const auto& clients = read->at("CLIENTS");
  ASSERT_EQ(clients.mechanisms.size(), 2u);
  EXPECT_EQ(clients.mechanisms[0].name, "PLAIN");
  EXPECT_EQ(clients.mechanisms[0].session_max, std::chrono::milliseconds(2000));
  EXPECT_EQ(clients.mechanisms[1].session_max, std::chrono::milliseconds(5000));
  EXPECT_EQ(clients.message_bytes_max, 1000u);
  EXPECT_EQ(read->at("OTHERS").mechanisms[1].name, "SCRAM-SHA-512");
  EXPECT_EQ(read->at("OTHERS").message_bytes_max, 524288u);
}

TEST(SaslSettings, a_listener_that_nobody_could_log_in_to_is_refused) {
  EXPECT_EQ(refusal({{"sasl.enabled.mechanisms", ""}}),
            "server.properties:1: sasl.enabled.mechanisms: no mechanism, so nobody could log in to listener "
            "CLIENTS");
  EXPECT_NE(refusal({{"sasl.enabled.mechanisms", "PLAIN"}})
                .find("listener.name.clients.plain.sasl.jaas.config: not set"),
            std::string::npos);
  EXPECT_NE(refusal({{"sasl.enabled.mechanisms", "SCRAM-SHA-1"}}).find("no mechanism SCRAM-SHA-1"),
            std::string::npos);
}

std::string inter_broker(const Settings& settings) {
  const auto checked = check_inter_broker_settings(config_of(settings), listeners);
  return checked ? "" : checked.error().message;
}

TEST(SaslSettings, what_brokers_would_use_among_each_other_has_to_be_there) {
  EXPECT_EQ(inter_broker({}), "");
  EXPECT_EQ(inter_broker({{"security.inter.broker.protocol", "PLAINTEXT"}}), "");
  EXPECT_EQ(inter_broker({{"inter.broker.listener.name", "clients"},
                          {"sasl.enabled.mechanisms", "PLAIN"},
                          {"sasl.mechanism.inter.broker.protocol", "PLAIN"}}),
            "");
  EXPECT_NE(inter_broker({{"inter.broker.listener.name", "CLIENTS"},
                          {"sasl.enabled.mechanisms", "PLAIN"},
                          {"sasl.mechanism.inter.broker.protocol", "SCRAM-SHA-256"}})
                .find("expected one of sasl.enabled.mechanisms of listener CLIENTS"),
            std::string::npos);
  EXPECT_NE(inter_broker({{"inter.broker.listener.name", "X"}}).find("expected the name of one of listeners"),
            std::string::npos);
  EXPECT_NE(
      inter_broker({{"inter.broker.listener.name", "CLIENTS"}, {"security.inter.broker.protocol", "SSL"}})
          .find("expected only one of them"),
      std::string::npos);
}

}  // namespace
}  // namespace barnabas::app
