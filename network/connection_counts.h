#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "network/server.h"

namespace barnabas::network {

/// Counts the connections of a server against its limits. Any thread.
class ConnectionCounts {
 public:
  explicit ConnectionCounts(const ServerLimits& limits)
      : limits_{
            limits.connections_max, limits.connections_per_address_max, limits.connections_per_address, {}} {}

  void set_limits(ConnectionLimits limits) {
    const std::lock_guard lock(mutex_);
    limits_ = std::move(limits);
  }

  /// Counts one more, unless a limit forbids it: then the name of the setting and its value.
  std::optional<std::string> enter(const std::string& listener, uint32_t listener_max,
                                   const std::string& address);
  void leave(const std::string& listener, const std::string& address);

  std::size_t total() const { return total_.load(std::memory_order_relaxed); }
  /// Waits until there are none; false if the deadline passed before.
  bool wait_for_none(std::chrono::steady_clock::time_point deadline);

 private:
  uint32_t address_max(const std::string& address) const;

  std::atomic<std::size_t> total_ = 0;
  std::mutex mutex_;
  ConnectionLimits limits_;
  std::condition_variable none_left_;
  std::unordered_map<std::string, uint32_t> of_listener_;
  std::unordered_map<std::string, uint32_t> of_address_;
};

}  // namespace barnabas::network
