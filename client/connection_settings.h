#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "security/security_protocol.h"
#include "security/tls_settings.h"

namespace barnabas::client {

/// How to reach a cluster, wherever it was said: options, a Java client's properties, librdkafka's. Holds
/// secrets.
struct ConnectionSettings {
  std::vector<std::string> bootstrap_servers{"127.0.0.1:9092"};  ///< "host:port", "[::1]:9092"
  security::SecurityProtocol protocol = security::SecurityProtocol::plaintext;
  std::string mechanism;  ///< "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"
  std::string user;
  std::string password;
  security::StoreSettings trust_store{.type = "PEM"};  ///< nothing in it: the system's authorities
  security::StoreSettings key_store{.type = "PEM"};    ///< nothing in it: no certificate is shown
  bool verify_host = true;  ///< the name that was asked for stands in the certificate
  bool verify_certificate = true;
  std::string client_id = "barnabas";
  std::chrono::milliseconds timeout{30'000};  ///< for a whole command, less for streams: each step
  /// What only producing and consuming understand, with librdkafka's names.
  std::map<std::string, std::string> librdkafka;

  bool shows_certificate() const { return key_store.location || key_store.key; }
};

/// Takes the text of a Java client's properties file. What has no meaning here is ErrorKind::invalid with the
/// place (`file`:line), the name and what to do, unless Java's client would not notice its absence either.
/// Never repeats a value that may be secret.
Result<void> apply_client_properties(std::string_view text, const std::string& file,
                                     ConnectionSettings& settings);

/// Takes one "name=value" with librdkafka's name. Whether it is about the connection, and so has a meaning
/// for all commands; the others are kept for producing and consuming.
Result<bool> apply_librdkafka_property(std::string_view assignment, ConnectionSettings& settings);

/// What stands in the text separated by commas, without blanks around it and without empty ones.
std::vector<std::string> split_list(std::string_view text);

/// Whether all fits together: a mechanism with its user, stores with their protocol, addresses that can be
/// read.
Result<void> check(const ConnectionSettings& settings);

struct HostPort {
  std::string host;  ///< without brackets
  std::string port;
};
/// "host:port", "host" (then 9092), "[::1]:9092"; a scheme in front ("PLAINTEXT://") is overlooked.
Result<HostPort> parse_host_port(std::string_view text);

}  // namespace barnabas::client
