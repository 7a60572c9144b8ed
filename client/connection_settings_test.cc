#include "client/connection_settings.h"

#include <gtest/gtest.h>

namespace barnabas::client {
namespace {

using security::SecurityProtocol;

Result<ConnectionSettings> read(std::string_view text) {
  ConnectionSettings settings;
  BARNABAS_TRY(apply_client_properties(text, "client.properties", settings));
  return settings;
}

TEST(ConnectionSettings, a_java_clients_file_is_understood) {
  const auto settings = read(
      "bootstrap.servers=a:1, b:2\n"
      "security.protocol=SASL_SSL\n"
      "sasl.mechanism=SCRAM-SHA-512\n"
      "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
      "username=\"alice\" password=\"a \\\\\"secret\\\\\"\";\n"
      "ssl.truststore.type=PEM\n"
      "ssl.truststore.location=/ca.pem\n"
      "ssl.endpoint.identification.algorithm=\n"
      "request.timeout.ms=5000\n"
      "acks=all\n"
      "key.serializer=org.apache.kafka.common.serialization.StringSerializer\n");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->bootstrap_servers, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(settings->protocol, SecurityProtocol::sasl_ssl);
  EXPECT_EQ(settings->mechanism, "SCRAM-SHA-512");
  EXPECT_EQ(settings->user, "alice");
  EXPECT_EQ(settings->password, "a \"secret\"");
  EXPECT_EQ(settings->trust_store.location, "/ca.pem");
  EXPECT_FALSE(settings->verify_host);
  EXPECT_EQ(settings->timeout, std::chrono::milliseconds(5000));
  EXPECT_EQ(settings->librdkafka, (std::map<std::string, std::string>{{"acks", "all"}}));
  EXPECT_TRUE(check(*settings));
}

TEST(ConnectionSettings, what_cannot_be_mapped_is_an_error_with_its_place_and_without_secrets) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"acks=1\nsasl.kerberos.service.name=kafka", "client.properties:2: sasl.kerberos.service.name"},
           {"security.protocol=TLS", "client.properties:1: security.protocol: \"TLS\"; expected"},
           {"request.timeout.ms=soon", "expected milliseconds"},
           {"sasl.jaas.config=com.example.OtherLoginModule required password=\"hunter2\";",
            "OtherLoginModule cannot"},
           {"sasl.jaas.config=x.ScramLoginModule required username=\"t\" password=\"hunter2\" "
            "tokenauth=\"true\";",
            "delegation tokens"},
           {"sasl.jaas.config=hunter2", "sasl.jaas.config"}}) {
    const auto settings = read(text);
    ASSERT_FALSE(settings) << text;
    EXPECT_NE(settings.error().message.find(words), std::string::npos) << settings.error().message;
    EXPECT_EQ(settings.error().message.find("hunter2"), std::string::npos) << settings.error().message;
  }
}

TEST(ConnectionSettings, inline_certificates_are_pem_whatever_is_said_of_files) {
  const auto settings = read("ssl.truststore.certificates=-----BEGIN CERTIFICATE-----\n");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->trust_store.type, "PEM");
  EXPECT_EQ(settings->key_store.type, "JKS") << "as Java has it";
}

TEST(ConnectionSettings, librdkafkas_names_go_where_they_belong) {
  ConnectionSettings settings;
  for (const char* of_connection : {"security.protocol=ssl", "ssl.ca.location=/ca.pem", "sasl.username=a=b",
                                    "enable.ssl.certificate.verification=false"}) {
    const auto applied = apply_librdkafka_property(of_connection, settings);
    ASSERT_TRUE(applied) << applied.error().message;
    EXPECT_TRUE(*applied) << of_connection;
  }
  EXPECT_EQ(settings.protocol, SecurityProtocol::ssl);
  EXPECT_EQ(settings.trust_store.location, "/ca.pem");
  EXPECT_EQ(settings.user, "a=b");
  EXPECT_FALSE(settings.verify_certificate);
  const auto applied = apply_librdkafka_property("linger.ms=5", settings);
  ASSERT_TRUE(applied);
  EXPECT_FALSE(*applied);
  EXPECT_EQ(settings.librdkafka.at("linger.ms"), "5");
  EXPECT_FALSE(apply_librdkafka_property("linger.ms", settings));
  EXPECT_FALSE(apply_librdkafka_property("=5", settings));
}

TEST(ConnectionSettings, addresses_are_read_in_each_form) {
  const auto is = [](std::string_view text, std::string_view host, std::string_view port) {
    const auto address = parse_host_port(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->host, host);
    EXPECT_EQ(address->port, port);
  };
  is("broker:1234", "broker", "1234");
  is("broker", "broker", "9092");
  is("[::1]:9093", "::1", "9093");
  is("[::1]", "::1", "9092");
  is("PLAINTEXT://broker:9092", "broker", "9092");
  for (const char* text :
       {"", ":9092", "broker:", "broker:x", "broker:0", "broker:65536", "[::1", "[::1]x:1"})
    EXPECT_FALSE(parse_host_port(text)) << text;
  for (const auto& [text, right] : std::vector<std::pair<std::string, std::string>>{
           {"::1", "[::1]:9092"}, {"::1:9093", "[::1]:9093"}, {"2001:db8::7:5", "[2001:db8::7:5]:9092"}})
    EXPECT_NE(parse_host_port(text).error().message.find("write " + right), std::string::npos) << text;
}

TEST(ConnectionSettings, a_login_has_to_be_whole) {
  ConnectionSettings settings;
  settings.protocol = SecurityProtocol::sasl_plaintext;
  EXPECT_NE(check(settings).error().message.find("--sasl-mechanism"), std::string::npos);
  settings.mechanism = "GSSAPI";
  EXPECT_EQ(check(settings).error().kind, ErrorKind::unsupported);
  settings.mechanism = "PLAIN";
  EXPECT_NE(check(settings).error().message.find("--user"), std::string::npos);
  settings.user = "alice";
  EXPECT_NE(check(settings).error().message.find("no password for alice; set BARNABAS_PASSWORD"),
            std::string::npos);
  settings.password = "secret";
  EXPECT_TRUE(check(settings));
  settings.protocol = SecurityProtocol::ssl;
  EXPECT_NE(check(settings).error().message.find("SASL_SSL"), std::string::npos);
}

}  // namespace
}  // namespace barnabas::client
