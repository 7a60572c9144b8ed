#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "broker/listener_stores.h"
#include "metadata/effective_broker_config.h"
#include "network/server.h"
#include "security/tls_context.h"

namespace barnabas::app {

/// What the TLS listeners of this broker show and trust, and how that changes while it runs: with settings of
/// the stores (listener.name.<name>.ssl.keystore.… and the like) and with the files that these name. What
/// cannot be used is refused with a log line, and what was there stays in force. The other ssl.* settings are
/// those of the start. Any thread; everything but `source` may wait for a disk.
class TlsListeners final : public broker::ListenerStores {
 public:
  /// Loads the stores of those of `listeners` that encrypt. The error names listener, setting and file.
  static Result<std::shared_ptr<TlsListeners>> open(const metadata::BrokerConfigView& settings,
                                                    const std::vector<network::ListenerConfig>& listeners);

  /// Null when the listener does not encrypt.
  std::shared_ptr<security::TlsContextSource> source(std::string_view listener) const;
  bool empty() const { return listeners_.empty(); }

  Result<void> check(const metadata::BrokerConfigView& settings) override;
  /// Settings have changed. The changes are numbered, and one that comes too late is passed over.
  void follow(const metadata::BrokerConfigView& settings, uint64_t change);
  uint64_t next_change() { return ++changes_; }
  /// Looks whether files have changed, and wipes out keys of tickets that are too old. To be called every now
  /// and then.
  void look_at_files();

 private:
  /// By which a file is known to be another one.
  struct Stamp {
    std::string path;
    int64_t device = 0;
    int64_t inode = 0;
    int64_t size = -1;
    int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Listener {
    std::string name;
    security::SecurityProtocol protocol = security::SecurityProtocol::ssl;
    security::TlsSettings settings;  ///< wanted; in force unless `complaint`
    std::shared_ptr<security::TicketKeys> tickets;
    std::shared_ptr<security::TlsContextSource> source;
    std::vector<Stamp> stamps;  ///< of the files when they were tried last
    std::optional<std::string> complaint;
    int retries = 0;  ///< still to be made although nothing changed: the file may have been half-written
  };

  static std::vector<Stamp> stamps_of(const security::TlsSettings& settings);
  static Result<security::TlsSettings> next_settings(const Listener& listener,
                                                     const metadata::BrokerConfigView& settings);
  static Result<std::shared_ptr<const security::TlsContext>> load_next(const Listener& listener,
                                                                       const security::TlsSettings& settings);
  static void reload(Listener& listener);

  std::atomic<uint64_t> changes_ = 0;
  uint64_t followed_ = 0;
  std::mutex mutex_;  ///< of the changes; who is there does not change
  std::vector<Listener> listeners_;
};

}  // namespace barnabas::app
