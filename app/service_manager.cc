#include "app/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/log.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

std::optional<uint64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  uint64_t number = 0;
  const char* end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

void warn_once(std::string_view what) {
  static std::atomic_flag warned;
  if (!warned.test_and_set())
    log_.warn("the service manager cannot be told of this process: {} ({})", what, std::strerror(errno));
}

/// As the kernel takes it: what begins with @ is no path. Nothing when it is neither.
std::string socket_address(std::string_view text) {
  if (text.size() < 2 || text.size() >= sizeof(sockaddr_un::sun_path)) return {};
  std::string address(text);
  if (address.front() == '@') address.front() = '\0';
  return address.front() == '\0' || address.front() == '/' ? address : std::string();
}

}  // namespace

ServiceManager ServiceManager::of_environment() {
  ServiceManager result;
  const char* address = std::getenv("NOTIFY_SOCKET");
  if (address == nullptr) return result;
  result.address_ = socket_address(address);
  if (result.address_.empty()) {
    errno = EAFNOSUPPORT;
    warn_once("NOTIFY_SOCKET is neither a path nor an abstract socket");
    return result;
  }
  result.socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (result.socket_ < 0) warn_once("no socket");
  const auto pid = number_in("WATCHDOG_PID");
  const auto watchdog = number_in("WATCHDOG_USEC");
  if (watchdog && *watchdog > 0 && (!pid || *pid == static_cast<uint64_t>(::getpid())))
    result.watchdog_ = std::chrono::microseconds(*watchdog);
  return result;
}

ServiceManager::ServiceManager(ServiceManager&& other) noexcept
    : address_(std::move(other.address_)),
      socket_(std::exchange(other.socket_, -1)),
      watchdog_(other.watchdog_) {}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::ready(std::string_view status) {
  send("READY=1\nSTATUS=" + std::string(status));
}

void ServiceManager::reloading() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t us = static_cast<int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us) + "\nSTATUS=reading the settings again");
}

void ServiceManager::stopping(std::string_view status) {
  send("STOPPING=1\nSTATUS=" + std::string(status));
}

void ServiceManager::alive() {
  send("WATCHDOG=1");
}

void ServiceManager::send(const std::string& message) {
  if (socket_ < 0) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  // Never waits: a manager that does not read must not hold up who serves.
  constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (::sendto(socket_, message.data(), message.size(), flags, reinterpret_cast<const sockaddr*>(&to),
               length) < 0)
    warn_once("NOTIFY_SOCKET does not take what is sent");
}

}  // namespace barnabas::app
