#include "security/tls_settings.h"

#include <gtest/gtest.h>

#include "metadata/image.h"

namespace barnabas::security {
namespace {

class Settings {
 public:
  Settings& set(const std::string& name, const std::string& value) {
    const auto done = config_.set(name, value, "test");
    EXPECT_TRUE(done) << done.error().message;
    return *this;
  }
  Settings& set_dynamic(const std::string& name, const std::string& value) {
    dynamic_[name] = value;
    return *this;
  }
  Result<TlsSettings> read(std::string_view listener, SecurityProtocol protocol = SecurityProtocol::ssl) {
    metadata::MetadataImage image;
    image.configs.put(std::make_shared<const metadata::ConfigImage>(
        metadata::ConfigImage{{metadata::ConfigResourceType::broker, "1"}, dynamic_}));
    return read_tls_settings(metadata::BrokerConfigView(image, NodeId{1}, config_), listener, protocol);
  }

 private:
  metadata::StaticConfig config_;
  std::map<std::string, std::string, std::less<>> dynamic_;
};

TEST(TlsSettings, a_listeners_own_setting_wins_over_the_plain_one) {
  Settings settings;
  settings.set("ssl.keystore.location", "/plain").set("ssl.keystore.password", "p1");
  settings.set("listener.name.external.ssl.keystore.location", "/external");
  const auto external = settings.read("EXTERNAL");
  ASSERT_TRUE(external);
  EXPECT_EQ(external->key_store.location, "/external");
  EXPECT_EQ(external->key_store.password, "p1");
  const auto other = settings.read("OTHER");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->key_store.location, "/plain");
}

TEST(TlsSettings, what_was_set_at_run_time_wins_over_the_file) {
  Settings settings;
  settings.set("listener.name.ssl.ssl.keystore.location", "/file");
  settings.set_dynamic("listener.name.ssl.ssl.keystore.location", "/dynamic");
  EXPECT_EQ(settings.read("SSL")->key_store.location, "/dynamic");
}

TEST(TlsSettings, an_empty_text_takes_a_setting_back) {
  Settings settings;
  settings.set("ssl.truststore.location", "/plain");
  settings.set("listener.name.ssl.ssl.truststore.location", "");
  EXPECT_EQ(settings.read("SSL")->trust_store.location, std::nullopt);
}

TEST(TlsSettings, defaults_are_kafkas) {
  const auto settings = Settings().read("SSL");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->key_store.type, "JKS");
  EXPECT_EQ(settings->client_auth, ClientAuth::none);
  EXPECT_EQ(settings->protocols, (std::vector<std::string>{"TLSv1.2", "TLSv1.3"}));
  EXPECT_TRUE(settings->cipher_suites.empty());
  EXPECT_EQ(settings->principal_mapping_rules, "DEFAULT");
}

TEST(TlsSettings, sasl_ssl_asks_for_certificates_only_by_its_own_setting) {
  Settings settings;
  settings.set("ssl.client.auth", "required");
  EXPECT_EQ(settings.read("SSL")->client_auth, ClientAuth::required);
  EXPECT_EQ(settings.read("SASL", SecurityProtocol::sasl_ssl)->client_auth, ClientAuth::none);
  settings.set("listener.name.sasl.ssl.client.auth", "requested");
  EXPECT_EQ(settings.read("SASL", SecurityProtocol::sasl_ssl)->client_auth, ClientAuth::requested);
}

TEST(TlsSettings, a_listeners_setting_is_checked_like_the_plain_one) {
  metadata::StaticConfig config;
  const auto done = config.set("listener.name.ssl.ssl.client.auth", "require", "server.properties:3");
  ASSERT_FALSE(done) << "it would not be asked for certificates";
  EXPECT_NE(done.error().message.find("server.properties:3"), std::string::npos);
}

TEST(TlsSettings, settings_of_stores_are_those_that_may_change_at_run_time) {
  EXPECT_TRUE(is_store_setting("listener.name.ssl.ssl.keystore.location"));
  EXPECT_TRUE(is_store_setting("listener.name.a.ssl.truststore.certificates"));
  EXPECT_FALSE(is_store_setting("ssl.keystore.location"));
  EXPECT_FALSE(is_store_setting("listener.name.ssl.ssl.client.auth"));
  EXPECT_FALSE(is_store_setting("listener.name.ssl.max.connections"));
}

}  // namespace
}  // namespace barnabas::security
