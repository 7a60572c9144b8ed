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

std::optional<std::string> ConnectionCounts::enter(const std::string& listener, uint32_t listener_max,
                                                   const std::string& address) {
  std::lock_guard lock(mutex_);
  if (total_ >= limits_.total) return limit_text("max.connections", limits_.total);
  if (const auto own = limits_.of_listener.find(listener); own != limits_.of_listener.end())
    listener_max = own->second;
  if (const auto found = of_listener_.find(listener);
      (found == of_listener_.end() ? 0 : found->second) >= listener_max) {
    return limit_text("listener's max.connections", listener_max);
  }
  const auto found = of_address_.find(address);
  if (const uint32_t max = address_max(address); (found == of_address_.end() ? 0 : found->second) >= max) {
    return limit_text("max.connections.per.ip", max);
  }
  ++total_;
  ++of_listener_[listener];
  ++of_address_[address];
  return std::nullopt;
}

void ConnectionCounts::leave(const std::string& listener, const std::string& address) {
  std::lock_guard lock(mutex_);
  count_down(of_listener_, listener);
  count_down(of_address_, address);
  if (--total_ == 0) none_left_.notify_all();
}

bool ConnectionCounts::wait_for_none(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return none_left_.wait_until(lock, deadline, [this] { return total_ == 0; });
}

}  // namespace barnabas::network
