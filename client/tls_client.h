#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "client/connection_settings.h"

namespace barnabas::client {

/// What TLS connections to brokers are made from: whom we trust, what we show.
class TlsClient {
 public:
  /// Reads the stores. ErrorKind::invalid names setting and file.
  static Result<TlsClient> load(const ConnectionSettings& settings);

  SSL_CTX* native() const { return context_.get(); }
  bool verifies_host() const { return verify_host_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const;
  };
  explicit TlsClient(bool verify_host);

  std::unique_ptr<SSL_CTX, Free> context_;
  bool verify_host_;
};

/// The same stores as PEM text, as librdkafka takes them; empty where there is none.
struct PemStores {
  std::string trusted;
  std::string key;
  std::string chain;
};
Result<PemStores> pem_stores(const ConnectionSettings& settings);

}  // namespace barnabas::client
