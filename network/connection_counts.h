#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "network/server.h"

namespace barnabas::network {

/// Counts the connections of a server against its limits. Any thread.
class ConnectionCounts {
 public:
  explicit ConnectionCounts(const ServerLimits& limits)
      : limits_{
            limits.connections_max, limits.connections_per_address_max, limits.connections_per_address, {}} {}

  void set_limits(ConnectionLimits limits) {
    {
      const std::lock_guard lock(mutex_);
      limits_ = std::move(limits);
    }
    wake();
  }

  /// Takes a place for one more. False: there is none, of the server or the listener, and `when_free` is
  /// called once when there may be one, on any thread, not inside this call.
  bool enter(const std::string& listener, uint32_t listener_max, std::function<void()> when_free);
  /// Counts the connection that took a place for its address, unless that has too many: then the name of the
  /// setting and its value, and the place is free again.
  std::optional<std::string> enter_address(const std::string& listener, const std::string& address);
  /// Gives back a place for which no address was counted.
  void leave_early(const std::string& listener);
  void leave(const std::string& listener, const std::string& address);

  std::size_t total() const { return total_.load(std::memory_order_relaxed); }
  /// Of each listener that ever had one.
  std::map<std::string, uint32_t> by_listener();
  /// Waits until there are none; false if the deadline passed before.
  bool wait_for_none(std::chrono::steady_clock::time_point deadline);

 private:
  uint32_t address_max(const std::string& address) const;
  void give_back(const std::string& listener);
  void wake();

  std::atomic<std::size_t> total_ = 0;
  std::mutex mutex_;
  ConnectionLimits limits_;
  std::condition_variable none_left_;
  std::vector<std::function<void()>> waiters_;
  std::unordered_map<std::string, uint32_t> of_listener_;
  std::unordered_map<std::string, uint32_t> of_address_;
};

}  // namespace barnabas::network
