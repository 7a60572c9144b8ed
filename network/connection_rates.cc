#include "network/connection_rates.h"

#include <algorithm>

namespace barnabas::network {

void ConnectionRates::set_limits(ConnectionRateLimits limits) {
  const std::lock_guard lock(mutex_);
  limits_ = std::move(limits);
}

void ConnectionRates::set_address_limit(const std::optional<std::string>& address,
                                        std::optional<double> limit) {
  const std::lock_guard lock(mutex_);
  if (!address) {
    default_address_limit_ = limit;
  } else if (limit) {
    address_limits_[*address] = *limit;
  } else {
    address_limits_.erase(*address);
  }
}

ConnectionRates::Wait ConnectionRates::count(const std::string& listener, Instant now) {
  const std::lock_guard lock(mutex_);
  Wait wait(0);
  const auto counted = [&](RateWindow& window, double limit) {
    window.record(settings_, 1, now);
    wait = std::max(wait, std::min<Wait>(window.excess(settings_, limit, now), settings_.window));
  };
  if (limits_.total) counted(total_, *limits_.total);
  if (const auto found = limits_.of_listener.find(listener); found != limits_.of_listener.end())
    counted(of_listener_[listener], found->second);
  return wait;
}

ConnectionRates::Wait ConnectionRates::count_address(const std::string& listener, const std::string& address,
                                                     Instant now) {
  const std::lock_guard lock(mutex_);
  const double* limit = limit_of(address);
  if (limit == nullptr) return Wait(0);
  RateWindow& window = of_address_.use(address, now);
  window.record(settings_, 1, now);
  const Wait wait = std::min<Wait>(window.excess(settings_, *limit, now), settings_.window);
  if (wait.count() == 0) return wait;
  window.record(settings_, -1, now);
  if (limits_.total) total_.record(settings_, -1, now);
  if (limits_.of_listener.contains(listener)) of_listener_[listener].record(settings_, -1, now);
  return wait;
}

double* ConnectionRates::limit_of(const std::string& address) {
  const auto own = address_limits_.find(address);
  if (own != address_limits_.end()) return &own->second;
  return default_address_limit_ ? &*default_address_limit_ : nullptr;
}

}  // namespace barnabas::network
