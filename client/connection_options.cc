#include "client/connection_options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace barnabas::client {
namespace {

constexpr const char* group = "Connection";

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || file.bad())
    return fail(ErrorKind::invalid, path + ": cannot be read (" + std::strerror(errno) + ")");
  return text.str();
}

}  // namespace

void ConnectionOptions::declare(CLI::App& app) {
  app.add_option("-b,--bootstrap-server", bootstrap_,
                 "brokers to begin with, separated by commas; 127.0.0.1:9092 where nothing is said")
      ->type_name("HOST:PORT,…")
      ->envname("BARNABAS_BROKERS")
      ->group(group);
  app.add_option("--command-config", command_config_,
                 "a Java client's properties file: protocol, login, stores")
      ->type_name("FILE")
      ->group(group);
  app.add_option("-X", librdkafka_, "one of librdkafka's properties; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--user", user_, "log in as this user, by SASL")
      ->type_name("NAME")
      ->envname("BARNABAS_USER")
      ->group(group);
  app.add_option("--password", password_, "better in the environment, where other users do not see it")
      ->type_name("TEXT")
      ->envname("BARNABAS_PASSWORD")
      ->group(group);
  app.add_option("--sasl-mechanism", mechanism_,
                 "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; with a user SCRAM-SHA-256 where nothing is said")
      ->type_name("NAME")
      ->envname("BARNABAS_SASL_MECHANISM")
      ->group(group);
  app.add_flag("--tls", tls_, "encrypt; the broker's certificate is checked against the system's authorities")
      ->group(group);
  app.add_option("--tls-ca", tls_ca_,
                 "the authority that the broker's certificate is from (PEM); implies --tls")
      ->type_name("FILE")
      ->envname("BARNABAS_TLS_CA")
      ->group(group);
  app.add_option("--tls-cert", tls_cert_, "the client's certificate with its chain (PEM); implies --tls")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--tls-key", tls_key_, "its key (PEM), if it is not in the same file")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--tls-skip-verify", tls_skip_verify_,
               "take any certificate: anybody can pretend to be the broker; implies --tls")
      ->group(group);
  app.add_option("--timeout", timeout_s_, "how long to try, in seconds; 30 where nothing is said")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 86400.0))
      ->group(group);
  app.add_option("--output", output_, "text, or json for programs")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
}

void ConnectionOptions::apply_shortcuts(ConnectionSettings& settings) const {
  if (!bootstrap_.empty()) settings.bootstrap_servers = split_list(bootstrap_);
  if (!user_.empty()) settings.user = user_;
  if (!password_.empty()) settings.password = password_;
  if (!mechanism_.empty()) settings.mechanism = mechanism_;
  if (!user_.empty() && settings.mechanism.empty()) settings.mechanism = "SCRAM-SHA-256";
  if (tls_skip_verify_) settings.verify_certificate = settings.verify_host = false;
  const bool tls = tls_ || tls_skip_verify_ || !tls_ca_.empty() || !tls_cert_.empty() ||
                   security::encrypts(settings.protocol);
  const bool sasl = !user_.empty() || security::authenticates_by_sasl(settings.protocol);
  using security::SecurityProtocol;
  settings.protocol = sasl ? (tls ? SecurityProtocol::sasl_ssl : SecurityProtocol::sasl_plaintext)
                           : (tls ? SecurityProtocol::ssl : SecurityProtocol::plaintext);
  if (const auto asked = asked_timeout()) settings.timeout = *asked;
}

std::optional<std::chrono::milliseconds> ConnectionOptions::asked_timeout() const {
  if (timeout_s_ <= 0) return std::nullopt;
  return std::chrono::milliseconds(static_cast<int64_t>(timeout_s_ * 1000));
}

Result<ConnectionSettings> ConnectionOptions::settings(Use use) const {
  ConnectionSettings settings;
  if (!command_config_.empty()) {
    BARNABAS_ASSIGN(const std::string text, read_file(command_config_));
    BARNABAS_TRY(apply_client_properties(text, command_config_, settings));
  }
  for (const std::string& assignment : librdkafka_) {
    BARNABAS_ASSIGN(const bool of_connection, apply_librdkafka_property(assignment, settings));
    if (!of_connection && use == Use::questions)
      return fail(ErrorKind::invalid, "-X " + assignment.substr(0, assignment.find('=')) +
                                          " has no effect here; only produce and consume take it");
  }
  if (!tls_ca_.empty()) settings.trust_store = {.type = "PEM", .location = tls_ca_};
  if (tls_cert_.empty() && !tls_key_.empty())
    return fail(ErrorKind::invalid, "--tls-key without --tls-cert; expected both");
  if (!tls_cert_.empty()) {
    BARNABAS_ASSIGN(std::string chain, read_file(tls_cert_));
    BARNABAS_ASSIGN(std::string key, read_file(tls_key_.empty() ? tls_cert_ : tls_key_));
    settings.key_store = {.type = "PEM", .certificates = std::move(chain), .key = std::move(key)};
  }
  apply_shortcuts(settings);
  BARNABAS_TRY(check(settings));
  return settings;
}

}  // namespace barnabas::client
