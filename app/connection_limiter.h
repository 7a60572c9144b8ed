#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "network/server.h"

namespace barnabas::app {

/// Gives a server its limits on connections, for as long as it is there: until let_go. Any thread.
class ConnectionLimiter {
 public:
  explicit ConnectionLimiter(network::Server& server) : server_(&server) {}

  /// The number of the change, for what will be known of it later.
  uint64_t change(network::ConnectionLimits limits) {
    const std::scoped_lock lock(mutex_);
    if (server_ != nullptr) server_->set_connection_limits(std::move(limits));
    return ++changes_;
  }
  /// Unless there was another change.
  void refine(uint64_t change, network::ConnectionLimits limits) {
    const std::scoped_lock lock(mutex_);
    if (server_ != nullptr && change == changes_) server_->set_connection_limits(std::move(limits));
  }
  void let_go() {
    const std::scoped_lock lock(mutex_);
    server_ = nullptr;
  }

 private:
  std::mutex mutex_;
  network::Server* server_;
  uint64_t changes_ = 0;
};

}  // namespace barnabas::app
