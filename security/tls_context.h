#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "security/key_store.h"
#include "security/principal.h"
#include "security/principal_mapping.h"
#include "security/ticket_keys.h"
#include "security/tls_settings.h"

struct ssl_ctx_st;
struct ssl_st;

namespace barnabas::security {

/// What the TLS connections of a listener are made from: settings with the stores they name, loaded and
/// checked at one moment. Never changes; any thread. Connections keep theirs when the listener gets another
/// one.
class TlsContext {
 public:
  /// So much is read with one call where the peer sends it. The memory is given back while there is nothing
  /// in it.
  static constexpr std::size_t read_buffer_bytes = 64 << 10;

  /// Reads the stores, so it may wait for a disk. ErrorKind::invalid has one line: setting, file, what was
  /// found and what was expected; never a secret. `tickets` should be the same one for a listener's contexts.
  static Result<std::shared_ptr<const TlsContext>> load(const TlsSettings& settings,
                                                        std::shared_ptr<TicketKeys> tickets);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* native() const { return native_; }
  const TlsSettings& settings() const { return settings_; }

  /// Who the peer of a complete handshake is: the mapped name of its certificate, ANONYMOUS without one. An
  /// error when no rule has a name for it, or when its certificate expired since the session began.
  Result<Principal> principal_of(const ssl_st* connection) const;

  /// Of the certificate, for log lines and warnings: subject, expiry and fingerprint.
  std::string summary() const;
  bool expired() const { return is_expired(certificate_.get()); }
  /// The files that it was loaded from.
  std::vector<std::string> files() const;

  /// Whether `next` may take the place of this one while clients know the certificate: as in Kafka, subject
  /// and alternative names must stay unless ssl.allow.dn.changes or ssl.allow.san.changes of `next` says
  /// otherwise, and a trust store is not added. ErrorKind::invalid says which.
  Result<void> check_replacement(const TlsContext& next) const;

 private:
  TlsContext(TlsSettings settings, PrincipalMapping mapping, std::shared_ptr<TicketKeys> tickets);
  Result<void> use_key(KeyEntry entry);
  Result<void> use_trusted(std::vector<Certificate> trusted, bool system);
  Result<void> use_protocols_and_ciphers();

  const TlsSettings settings_;
  const PrincipalMapping mapping_;
  const std::shared_ptr<TicketKeys> tickets_;
  ssl_ctx_st* native_;
  Certificate certificate_;
};

/// Where a listener's context is looked up for each new connection, and changed. Any thread.
class TlsContextSource {
 public:
  explicit TlsContextSource(std::shared_ptr<const TlsContext> first) : context_(std::move(first)) {}

  std::shared_ptr<const TlsContext> current() const {
    const std::lock_guard lock(mutex_);
    return context_;
  }
  void replace(std::shared_ptr<const TlsContext> next) {
    const std::lock_guard lock(mutex_);
    context_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsContext> context_;
};

}  // namespace barnabas::security
