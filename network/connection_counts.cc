#include "network/connection_counts.h"

namespace barnabas::network {

namespace {

std::string limit_text(const char* setting, uint32_t value) {
  return std::string(setting) + "=" + std::to_string(value);
}

void count_down(std::unordered_map<std::string, uint32_t>& counts, const std::string& key) {
  const auto found = counts.find(key);
  if (found != counts.end() && --found->second == 0) counts.erase(found);
}

}  // namespace

uint32_t ConnectionCounts::address_max(const std::string& address) const {
  const auto found = limits_.of_address.find(address);
  return found == limits_.of_address.end() ? limits_.per_address : found->second;
}

bool ConnectionCounts::enter(const std::string& listener, uint32_t listener_max,
                             std::function<void()> when_free) {
  const std::lock_guard lock(mutex_);
  if (const auto own = limits_.of_listener.find(listener); own != limits_.of_listener.end())
    listener_max = own->second;
  const auto found = of_listener_.find(listener);
  const uint32_t count = found == of_listener_.end() ? 0 : found->second;
  if (total_ >= limits_.total || count >= listener_max) {
    waiters_.push_back(std::move(when_free));
    return false;
  }
  ++total_;
  ++of_listener_[listener];
  return true;
}

std::optional<std::string> ConnectionCounts::enter_address(const std::string& listener,
                                                           const std::string& address) {
  std::string refusal;
  {
    const std::lock_guard lock(mutex_);
    const auto found = of_address_.find(address);
    const uint32_t max = address_max(address);
    if ((found == of_address_.end() ? 0 : found->second) < max) {
      ++of_address_[address];
      return std::nullopt;
    }
    give_back(listener);
    refusal = limit_text("max.connections.per.ip", max);
  }
  wake();
  return refusal;
}

void ConnectionCounts::leave_early(const std::string& listener) {
  {
    const std::lock_guard lock(mutex_);
    give_back(listener);
  }
  wake();
}

void ConnectionCounts::leave(const std::string& listener, const std::string& address) {
  {
    const std::lock_guard lock(mutex_);
    count_down(of_address_, address);
    give_back(listener);
  }
  wake();
}

void ConnectionCounts::give_back(const std::string& listener) {
  count_down(of_listener_, listener);
  if (--total_ == 0) none_left_.notify_all();
}

void ConnectionCounts::wake() {
  std::vector<std::function<void()>> waiters;
  {
    const std::lock_guard lock(mutex_);
    waiters.swap(waiters_);
  }
  for (const auto& waiter : waiters) waiter();
}

std::map<std::string, uint32_t> ConnectionCounts::by_listener() {
  const std::lock_guard lock(mutex_);
  return {of_listener_.begin(), of_listener_.end()};
}

bool ConnectionCounts::wait_for_none(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return none_left_.wait_until(lock, deadline, [this] { return total_ == 0; });
}

}  // namespace barnabas::network
