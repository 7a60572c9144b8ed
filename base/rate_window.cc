#include "base/rate_window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace barnabas {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

/// Rounds as Kafka does; beyond a month all waits are the same.
milliseconds rounded(double wait_ms) {
  constexpr double longest = std::numeric_limits<int32_t>::max();
  return milliseconds(static_cast<int64_t>(std::floor(std::clamp(wait_ms, 0.0, longest) + 0.5)));
}

}  // namespace

void RateWindow::record(const RateSettings& settings, double value, Instant now) {
  if (samples_.empty()) {
    samples_.push_back({0, now, now});
  } else if (now - samples_[current_].start >= settings.window) {
    const std::size_t most = static_cast<std::size_t>(settings.samples) + 1;
    current_ = (current_ + 1) % most;
    if (current_ >= samples_.size()) {
      samples_.push_back({0, now, now});
      current_ = samples_.size() - 1;
    } else {
      samples_[current_] = {0, now, now};
    }
  }
  samples_[current_].value += value;
  samples_[current_].last_event = now;
}

void RateWindow::purge(const RateSettings& settings, Instant now) {
  for (Sample& sample : samples_)
    if (now - sample.last_event >= settings.whole()) sample = {0, now, now};
}

milliseconds RateWindow::length(const RateSettings& settings, Instant now) const {
  Instant oldest = now;
  for (const Sample& sample : samples_) oldest = std::min(oldest, sample.start);
  auto elapsed = duration_cast<milliseconds>(now - oldest);
  const int64_t full = elapsed / settings.window;
  const int64_t least = settings.samples - 1;
  if (full < least) elapsed += settings.window * (least - full);
  return std::max(elapsed, milliseconds(1));
}

double RateWindow::sum() const {
  return std::accumulate(samples_.begin(), samples_.end(), 0.0,
                         [](double sum, const Sample& sample) { return sum + sample.value; });
}

double RateWindow::rate(const RateSettings& settings, Instant now) {
  purge(settings, now);
  return sum() * 1000.0 / static_cast<double>(length(settings, now).count());
}

milliseconds RateWindow::excess(const RateSettings& settings, double bound, Instant now) {
  const double observed = rate(settings, now);
  if (!(observed > bound)) return milliseconds(0);
  return rounded((observed - bound) / bound * static_cast<double>(length(settings, now).count()));
}

double TokenBucket::tokens(double rate, double burst_seconds, Instant now) {
  const double burst = rate * burst_seconds;
  if (fresh_) {
    tokens_ = burst;
    fresh_ = false;
  } else {
    const double seconds = std::chrono::duration<double>(now - updated_).count();
    tokens_ = std::min(burst, tokens_ + rate * std::max(seconds, 0.0));
  }
  updated_ = std::max(updated_, now);
  return tokens_;
}

void TokenBucket::take(double count, double rate, double burst_seconds, Instant now) {
  tokens(rate, burst_seconds, now);
  tokens_ = std::min(rate * burst_seconds, tokens_ - count);
}

milliseconds TokenBucket::excess(double rate, double burst_seconds, Instant now) {
  const double left = tokens(rate, burst_seconds, now);
  return left < 0 ? rounded(-left / rate * 1000) : milliseconds(0);
}

int32_t throttle_ms(milliseconds wait) {
  return static_cast<int32_t>(std::clamp<int64_t>(wait.count(), 0, std::numeric_limits<int32_t>::max()));
}

}  // namespace barnabas
