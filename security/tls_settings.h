#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metadata/effective_broker_config.h"
#include "security/security_protocol.h"

namespace barnabas::security {

/// A store as the settings describe it; what is inline holds PEM text.
struct StoreSettings {
  std::string type = "JKS";
  std::optional<std::string> location{};
  std::optional<std::string> password{};
  std::optional<std::string> certificates{};  ///< ssl.keystore.certificate.chain, ssl.truststore.certificates
  std::optional<std::string> key{};           ///< ssl.keystore.key
  std::optional<std::string> key_password{};  ///< ssl.key.password

  bool operator==(const StoreSettings&) const = default;
};

enum class ClientAuth : uint8_t { none, requested, required };

/// The ssl.* settings of one listener. Holds secrets.
struct TlsSettings {
  std::string listener;  ///< "SSL"
  StoreSettings key_store{};
  StoreSettings trust_store{};  ///< neither location nor certificates: the system's authorities
  ClientAuth client_auth = ClientAuth::none;
  std::vector<std::string> protocols{};      ///< as given: "TLSv1.2"; empty: all that are served
  std::vector<std::string> cipher_suites{};  ///< with the names of the IANA and Java; empty: our choice
  std::string principal_mapping_rules = "DEFAULT";
  bool allow_dn_changes = false;
  bool allow_san_changes = false;
};

/// What is in force for a listener: the setting with its prefix, else the plain one, each as Kafka looks it
/// up. Of SASL_SSL only a prefixed ssl.client.auth counts (KIP-684). ErrorKind::invalid names the setting.
Result<TlsSettings> read_tls_settings(const metadata::BrokerConfigView& settings, std::string_view listener,
                                      SecurityProtocol protocol);

/// Whether the dynamic setting `name` belongs to a TLS listener's stores: listener.name.<any>.ssl.keystore.…
/// and what else may be changed while the broker runs.
bool is_store_setting(std::string_view name);

}  // namespace barnabas::security
