#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace barnabas::app {

/// What the service manager (systemd) is told of this process, by the protocol of sd_notify(3): each message
/// is one datagram to the socket in NOTIFY_SOCKET. Without that variable nothing is sent. What cannot be sent
/// is one warning in the log and no more: the broker does not depend on being watched. Any thread.
class ServiceManager {
 public:
  /// By NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  static ServiceManager of_environment();
  ServiceManager() = default;
  ServiceManager(ServiceManager&& other) noexcept;
  ServiceManager& operator=(ServiceManager&&) = delete;
  ~ServiceManager();

  /// Clients are answered; also the end of a reload. `status` is what `systemctl status` shows.
  void ready(std::string_view status);
  /// Settings are being read again.
  void reloading();
  /// The orderly end has begun.
  void stopping(std::string_view status);
  /// Still working. To be sent at least once in each `watchdog()`, or the process is ended.
  void alive();

  /// Nothing when the service manager does not watch this process.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

 private:
  void send(const std::string& message);

  std::string address_;  ///< as the kernel takes it, with a zero in front of an abstract one; empty: nobody
  int socket_ = -1;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace barnabas::app
