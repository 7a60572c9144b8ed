#include "security/token_key_schedule.h"

#include <algorithm>

namespace barnabas::security {
namespace {

constexpr std::chrono::milliseconds at_least{1};
/// What is later than a year away is never: no sum of times overflows.
constexpr std::chrono::milliseconds at_most = std::chrono::hours(24 * 366);

std::chrono::milliseconds bounded(std::chrono::milliseconds time) {
  return std::clamp(time, at_least, at_most);
}

}  // namespace

TokenKeySchedule::TokenKeySchedule(const TokenKeyEndpoint& endpoint, Instant now)
    : refresh_(bounded(endpoint.refresh)),
      backoff_first_(bounded(std::min(endpoint.retry_backoff, endpoint.retry_backoff_max))),
      backoff_max_(bounded(endpoint.retry_backoff_max)),
      backoff_(backoff_first_),
      began_(now - at_most),
      next_(now) {}

void TokenKeySchedule::succeeded(Instant now) {
  backoff_ = backoff_first_;
  next_ = now + refresh_;
}

void TokenKeySchedule::failed(Instant now) {
  next_ = now + backoff_;
  backoff_ = std::min(backoff_ * 2, backoff_max_);
}

void TokenKeySchedule::missed(Instant now) {
  next_ = std::min(next_, std::max(now, began_ + backoff_max_));
}

}  // namespace barnabas::security
