#include "app/tls_listeners.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "metadata/metadata_test_support.h"
#include "security/test_certificates.h"

namespace barnabas::app {
namespace {

using security::TestIdentity;

class TlsListenersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "barnabas-tls-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    put("server.pem", server_);
    ASSERT_TRUE(config_.set("ssl.keystore.type", "PEM", "f:1"));
    ASSERT_TRUE(config_.set("ssl.keystore.location", path("server.pem"), "f:2"));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  /// Another file each time, as whoever renews a certificate should do it.
  void put(const std::string& name, const std::string& text) {
    std::ofstream(path("new"), std::ios::binary) << text;
    std::filesystem::rename(path("new"), path(name));
  }
  void put(const std::string& name, const TestIdentity& identity) { put(name, identity.pem()); }

  void set(std::string_view name, std::optional<std::string_view> value) {
    image_ = *metadata::testing::apply(
                  image_, metadata::testing::config(metadata::ConfigResourceType::broker, "1", name, value))
                  .image;
  }
  metadata::BrokerConfigView view() const { return {image_, NodeId{1}, config_}; }
  std::shared_ptr<TlsListeners> open() {
    auto opened = TlsListeners::open(view(), {{"PLAINTEXT", security::SecurityProtocol::plaintext},
                                              {"SSL", security::SecurityProtocol::ssl}});
    EXPECT_TRUE(opened) << opened.error().message;
    return *opened;
  }
  void follow(TlsListeners& listeners) { listeners.follow(view(), listeners.next_change()); }
  static std::string shown(const TlsListeners& listeners) {
    return listeners.source("SSL")->current()->summary();
  }

  security::TestAuthority authority_;
  TestIdentity server_ = authority_.issue({{"CN", "server"}});
  TestIdentity renewed_ = authority_.issue({{"CN", "server"}}, {.days = 60});
  TestIdentity renamed_ = authority_.issue({{"CN", "other"}});
  std::filesystem::path directory_;
  metadata::StaticConfig config_;
  metadata::MetadataImage image_;
  static constexpr std::string_view location_ = "listener.name.ssl.ssl.keystore.location";
};

TEST_F(TlsListenersTest, only_listeners_that_encrypt_have_a_context) {
  const auto listeners = open();
  EXPECT_EQ(listeners->source("PLAINTEXT"), nullptr);
  EXPECT_NE(listeners->source("SSL"), nullptr);
  EXPECT_FALSE(listeners->empty());
}

TEST_F(TlsListenersTest, a_store_that_cannot_be_used_is_an_error_with_the_listener) {
  put("server.pem", "nonsense");
  const auto opened = TlsListeners::open(view(), {{"SSL", security::SecurityProtocol::ssl}});
  ASSERT_FALSE(opened);
  EXPECT_TRUE(opened.error().message.starts_with("listener SSL: ssl.keystore.location: "))
      << opened.error().message;
}

TEST_F(TlsListenersTest, a_file_that_changes_is_taken_and_one_that_does_not_is_not_read) {
  const auto listeners = open();
  const auto before = listeners->source("SSL")->current();
  listeners->look_at_files();
  EXPECT_EQ(listeners->source("SSL")->current(), before);
  put("server.pem", renewed_);
  listeners->look_at_files();
  EXPECT_NE(listeners->source("SSL")->current(), before);
}

TEST_F(TlsListenersTest, what_cannot_be_used_changes_nothing_until_something_better_comes) {
  const auto listeners = open();
  const std::string before = shown(*listeners);
  const std::string torn =
      renewed_.pem().substr(0, renewed_.key_pem().size() + 100);  // within the certificate
  for (const std::string& text : {std::string("nonsense"), std::string(), renamed_.pem(),
                                  server_.key_pem() + renewed_.chain_pem(), torn}) {
    put("server.pem", text);
    for (int i = 0; i < 6; ++i) listeners->look_at_files();
    EXPECT_EQ(shown(*listeners), before);
  }
  std::filesystem::remove(path("server.pem"));
  listeners->look_at_files();
  EXPECT_EQ(shown(*listeners), before);
  put("server.pem", renewed_);
  listeners->look_at_files();
  EXPECT_NE(shown(*listeners), before);
}

TEST_F(TlsListenersTest, settings_are_checked_before_and_followed_after) {
  const auto listeners = open();
  const std::string before = shown(*listeners);
  put("next.pem", renewed_);
  put("renamed.pem", renamed_);
  set(location_, path("renamed.pem"));
  const auto refused = listeners->check(view());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("listener SSL: Keystore DistinguishedName does not match"),
            std::string::npos)
      << refused.error().message;
  set(location_, path("missing.pem"));
  EXPECT_FALSE(listeners->check(view()));
  EXPECT_EQ(shown(*listeners), before);
  set(location_, path("next.pem"));
  EXPECT_TRUE(listeners->check(view()));
  EXPECT_EQ(shown(*listeners), before) << "a check changes nothing";
  follow(*listeners);
  EXPECT_NE(shown(*listeners), before);
  set(location_, std::nullopt);
  follow(*listeners);
  EXPECT_EQ(shown(*listeners), before);
}

TEST_F(TlsListenersTest, the_same_setting_again_reads_the_file_again) {
  set(location_, path("server.pem"));
  const auto listeners = open();
  const std::string before = shown(*listeners);
  put("server.pem", renewed_);
  EXPECT_TRUE(listeners->check(view()));
  follow(*listeners);
  EXPECT_NE(shown(*listeners), before);
}

TEST_F(TlsListenersTest, a_change_that_comes_too_late_is_passed_over) {
  const auto listeners = open();
  const uint64_t first = listeners->next_change();
  const uint64_t second = listeners->next_change();
  put("next.pem", renewed_);
  set(location_, path("next.pem"));
  listeners->follow(view(), second);
  const std::string after = shown(*listeners);
  set(location_, std::nullopt);
  listeners->follow(view(), first);
  EXPECT_EQ(shown(*listeners), after);
}

TEST_F(TlsListenersTest, other_settings_stay_as_they_were_at_the_start) {
  ASSERT_TRUE(config_.set("ssl.client.auth", "required", "f:3"));
  ASSERT_TRUE(config_.set("ssl.truststore.type", "PEM", "f:4"));
  ASSERT_TRUE(config_.set("ssl.truststore.certificates", authority_.certificate_pem(), "f:5"));
  const auto listeners = open();
  set("listener.name.ssl.ssl.client.auth", "none");
  put("server.pem", renewed_);
  follow(*listeners);
  EXPECT_EQ(listeners->source("SSL")->current()->settings().client_auth, security::ClientAuth::required);
}

}  // namespace
}  // namespace barnabas::app
