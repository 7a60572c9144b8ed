#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/quota_buckets.h"
#include "base/rate_window.h"
#include "network/server.h"

namespace barnabas::network {

/// How fast connections come, against what is allowed (KIP-612): of the whole server and of each listener,
/// for which accepting is put off; of each address, whose connections are closed. Times are arguments. Any
/// thread.
class ConnectionRates {
 public:
  using Wait = std::chrono::milliseconds;
  explicit ConnectionRates(const RateSettings& settings)
      : settings_(settings), of_address_(settings.whole() + settings.window) {}

  void set_limits(ConnectionRateLimits limits);
  /// Of one address, or (none) of each that has no limit of its own. A limit of none takes it away.
  void set_address_limit(const std::optional<std::string>& address, std::optional<double> limit);

  /// Counts a connection. How long its acceptance, and that of all behind it, is to be put off; never longer
  /// than one window.
  Wait count(const std::string& listener, Instant now);
  /// Counts a connection of that address. Above zero: it is beyond the limit and does not count at all,
  /// neither for the listener; it is to be closed after that time.
  Wait count_address(const std::string& listener, const std::string& address, Instant now);

 private:
  double* limit_of(const std::string& address);

  const RateSettings settings_;
  std::mutex mutex_;
  ConnectionRateLimits limits_;
  std::optional<double> default_address_limit_;
  std::unordered_map<std::string, double> address_limits_;
  RateWindow total_;
  std::map<std::string, RateWindow> of_listener_;
  QuotaBuckets<RateWindow> of_address_;
};

}  // namespace barnabas::network
