#include "security/tls_context.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "security/test_certificates.h"

namespace barnabas::security {
namespace {

class TlsContextTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "barnabas-tls-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& bytes) {
    const std::string path = (directory_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static auto load(const TlsSettings& settings) {
    return TlsContext::load(settings, std::make_shared<TicketKeys>());
  }
  static std::string error_of(const TlsSettings& settings) {
    const auto context = load(settings);
    return context ? "none" : context.error().message;
  }
  static bool says(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }
  TlsSettings with_file(std::string type, std::string path, std::optional<std::string> password = {}) {
    TlsSettings settings;
    settings.listener = "SSL";
    settings.key_store.type = std::move(type);
    settings.key_store.location = std::move(path);
    settings.key_store.password = std::move(password);
    return settings;
  }
  static std::string testdata(const std::string& name) {
    return BARNABAS_SOURCE_DIR "/security/testdata/" + name;
  }

  std::filesystem::path directory_;
  TestAuthority authority_;
  TestIdentity server_ = authority_.issue({{"CN", "server"}}, {.alternative_names = "DNS:localhost"});
};

TEST_F(TlsContextTest, stores_of_every_kind_are_loaded) {
  const std::string p12 = server_.pkcs12("secret");
  EXPECT_EQ(error_of(inline_settings(server_)), "none");
  EXPECT_EQ(error_of(with_file("PEM", file("a.pem", server_.pem()))), "none");
  EXPECT_EQ(error_of(with_file("pem", file("a.pem", server_.pem()))), "none");
  EXPECT_EQ(error_of(with_file("PKCS12", file("a.p12", p12), "secret")), "none");
  EXPECT_EQ(error_of(with_file("JKS", file("a.jks", p12), "secret")), "none") << "what Java calls so today";
  EXPECT_EQ(error_of(with_file("PKCS12", testdata("keytool.p12"), "secret")), "none");
  EXPECT_EQ(error_of(with_file("PKCS12", testdata("keytool_legacy.p12"), "secret")), "none");
}

TEST_F(TlsContextTest, a_java_key_store_is_refused_with_the_command_that_converts_it) {
  const std::string path = testdata("keytool.jks");
  const std::string error = error_of(with_file("JKS", path, "secret"));
  EXPECT_TRUE(says(error, "keytool -importkeystore -srckeystore " + path +
                              " -srcstoretype JKS -destkeystore " + path + ".p12 -deststoretype PKCS12"))
      << error;
  EXPECT_EQ(error.find('\n'), error.npos);
}

TEST_F(TlsContextTest, a_trust_store_of_keytool_holds_what_it_marks_as_trusted) {
  TlsSettings settings = inline_settings(server_);
  settings.client_auth = ClientAuth::required;
  settings.trust_store = {.type = "PKCS12", .location = testdata("keytool_trust.p12"), .password = "secret"};
  EXPECT_EQ(error_of(settings), "none");
  settings.trust_store.password = "wrong0815";
  EXPECT_TRUE(says(error_of(settings), "password is wrong"));
  EXPECT_FALSE(says(error_of(settings), "wrong0815"));
}

TEST_F(TlsContextTest, errors_name_setting_file_and_what_to_do) {
  const std::string pem = file("a.pem", server_.pem());
  const std::string p12 = file("a.p12", server_.pkcs12("secret"));
  const std::string missing = (directory_ / "missing").string();
  EXPECT_EQ(error_of(with_file("PEM", missing)),
            "ssl.keystore.location: " + missing + ": No such file or directory");
  EXPECT_EQ(error_of(with_file("PEM", directory_.string())),
            "ssl.keystore.location: " + directory_.string() + ": not a file");
  EXPECT_EQ(error_of(with_file("PEM", file("empty", ""))),
            "ssl.keystore.location: " + (directory_ / "empty").string() + ": empty");
  EXPECT_EQ(error_of(with_file("PKCS12", p12)), "ssl.keystore.password: not set; expected that of " + p12);
  EXPECT_TRUE(says(error_of(with_file("PKCS12", p12, "x")), p12 + ": the password is wrong"));
  EXPECT_TRUE(says(error_of(with_file("JKS", pem, "x")), pem + ": holds PEM; set ssl.keystore.type=PEM"));
  EXPECT_TRUE(says(error_of(with_file("PEM", p12)), p12 + ": holds PKCS12; set ssl.keystore.type=PKCS12"));
  EXPECT_TRUE(says(error_of(with_file("BKS", pem)), "ssl.keystore.type: \"BKS\"; expected PEM"));
  EXPECT_TRUE(says(error_of(with_file("PEM", pem, "x")), "ssl.keystore.password: "));
  TlsSettings none;
  EXPECT_TRUE(says(error_of(none), "ssl.keystore.location: not set"));
  TlsSettings half = inline_settings(server_);
  half.key_store.certificates.reset();
  EXPECT_TRUE(says(error_of(half), "ssl.keystore.certificate.chain is not set"));
  TlsSettings both = inline_settings(server_);
  both.key_store.location = pem;
  EXPECT_TRUE(says(error_of(both), "ssl.keystore.location is set as well"));
  TlsSettings rules = inline_settings(server_);
  rules.principal_mapping_rules = "RULE:(/x/";
  EXPECT_TRUE(says(error_of(rules), "ssl.principal.mapping.rules: invalid rule"));
  TlsSettings trust = inline_settings(server_);
  trust.trust_store.certificates = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_TRUE(says(error_of(trust), "ssl.truststore.certificates: certificate 1"));
}

TEST_F(TlsContextTest, a_pipe_in_the_place_of_a_store_holds_up_nobody) {
  const std::string path = (directory_ / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(says(error_of(with_file("PEM", path)), "not a file"));
}

TEST_F(TlsContextTest, a_certificate_for_others_does_not_take_the_place_of_one) {
  const auto before = *load(inline_settings(server_));
  const auto replaced_by = [&](const TestIdentity& identity, bool dn, bool san) {
    TlsSettings settings = inline_settings(identity);
    settings.allow_dn_changes = dn;
    settings.allow_san_changes = san;
    return before->check_replacement(**load(settings)).has_value();
  };
  const auto renewed =
      authority_.issue({{"CN", "server"}}, {.days = 60, .alternative_names = "DNS:localhost"});
  const auto wider =
      authority_.issue({{"CN", "SERVER"}}, {.alternative_names = "DNS:other.example,DNS:localhost"});
  const auto narrower = authority_.issue({{"CN", "server"}}, {.alternative_names = "DNS:other.example"});
  const auto renamed = authority_.issue({{"CN", "other"}}, {.alternative_names = "DNS:localhost"});
  EXPECT_TRUE(replaced_by(renewed, false, false));
  EXPECT_TRUE(replaced_by(wider, false, false));
  EXPECT_FALSE(replaced_by(narrower, true, false));
  EXPECT_TRUE(replaced_by(narrower, false, true));
  EXPECT_FALSE(replaced_by(renamed, false, true));
  EXPECT_TRUE(replaced_by(renamed, true, false));
}

TEST_F(TlsContextTest, a_trust_store_is_not_added_while_the_listener_runs) {
  const auto before = *load(inline_settings(server_));
  TlsSettings settings = inline_settings(server_);
  settings.trust_store.certificates = authority_.certificate_pem();
  EXPECT_FALSE(before->check_replacement(**load(settings)));
}

TEST_F(TlsContextTest, it_names_the_files_it_came_from_and_the_certificate) {
  TlsSettings settings = with_file("PEM", file("a.pem", server_.pem()));
  settings.trust_store = {.type = "PEM", .location = file("ca.pem", authority_.certificate_pem())};
  const auto context = *load(settings);
  EXPECT_EQ(context->files(), (std::vector{*settings.key_store.location, *settings.trust_store.location}));
  EXPECT_TRUE(context->summary().starts_with("subject=\"CN=server\" expires=\"20"));
  EXPECT_FALSE(context->expired());
}

}  // namespace
}  // namespace barnabas::security
