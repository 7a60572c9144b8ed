#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "security/key_store.h"
#include "security/tls_settings.h"

/// Keys and certificates for tests, made when they are asked for. Nothing here is fit for anything else.
namespace barnabas::security {

/// {"CN", "alice"}, the attribute nearest to the root first.
using TestName = std::vector<std::pair<std::string, std::string>>;

struct TestIdentity {
  PrivateKey key;
  Certificate certificate;
  std::string issuer_pem;  ///< empty when it vouches for itself

  std::string certificate_pem() const;
  std::string chain_pem() const { return certificate_pem() + issuer_pem; }
  /// PKCS8, encrypted if there is a password.
  std::string key_pem(const std::optional<std::string>& password = std::nullopt) const;
  std::string pem() const { return key_pem() + chain_pem(); }
  struct Pkcs12Options {
    int key_algorithm = -1;  ///< NIDs; -1: OpenSSL's choice
    int certificate_algorithm = -1;
    int mac_rounds = 1;  ///< -1: no MAC
    bool with_key = true;
    std::optional<std::string> key_password{};  ///< when it is not the store's
  };
  std::string pkcs12(const std::string& password, const Pkcs12Options& options) const;
  std::string pkcs12(const std::string& password) const { return pkcs12(password, Pkcs12Options{}); }
};

struct TestCertificateOptions {
  int days = 30;                    ///< below 0: it expired that long ago
  std::string alternative_names{};  ///< "DNS:localhost,IP:127.0.0.1"
  bool authority = false;
  std::string usage{};  ///< "clientAuth"
  bool rsa = false;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority");
  TestIdentity issue(const TestName& subject, const TestCertificateOptions& options = {}) const;
  std::string certificate_pem() const { return own_.certificate_pem(); }
  const TestIdentity& own() const { return own_; }

 private:
  TestIdentity own_;
};

/// Settings of a listener "SSL" with everything inline.
TlsSettings inline_settings(const TestIdentity& identity);

}  // namespace barnabas::security
