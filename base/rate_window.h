#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace barnabas {

/// How a rate is measured: over `samples` windows of `window` each, the last one still open. Quotas give
/// these as quota.window.num and quota.window.size.seconds.
struct RateSettings {
  std::chrono::milliseconds window{1000};
  int samples = 11;

  std::chrono::milliseconds whole() const { return window * samples; }
};

/// What came within the last windows, as a rate in units a second, by Kafka's rules: a rate is always taken
/// over all full windows but the last, however young it is, so that a first burst counts as if it had come
/// over all that time. Pure; times must not go back by much.
class RateWindow {
 public:
  /// Negative values take back what was recorded.
  void record(const RateSettings& settings, double value, Instant now);
  double rate(const RateSettings& settings, Instant now);
  /// How long nothing may come for the rate to be back at `bound`, which is above 0; zero while it is not
  /// exceeded.
  std::chrono::milliseconds excess(const RateSettings& settings, double bound, Instant now);

 private:
  struct Sample {
    double value = 0;
    Instant start;
    Instant last_event;
  };
  void purge(const RateSettings& settings, Instant now);
  std::chrono::milliseconds length(const RateSettings& settings, Instant now) const;
  double sum() const;

  std::vector<Sample> samples_;
  std::size_t current_ = 0;
};

/// What may still be done, filled up with time: `rate` a second, up to what comes in `burst` seconds. It may
/// be overdrawn once, and is then empty until that is made up for (KIP-599). Pure.
class TokenBucket {
 public:
  /// What there is; below 0 when overdrawn.
  double tokens(double rate, double burst_seconds, Instant now);
  void take(double count, double rate, double burst_seconds, Instant now);
  /// Until it is not overdrawn any more; zero when it is not.
  std::chrono::milliseconds excess(double rate, double burst_seconds, Instant now);

 private:
  double tokens_ = 0;
  bool fresh_ = true;  ///< full, whatever that is
  Instant updated_{};
};

/// `milliseconds` as throttle times are told to clients.
int32_t throttle_ms(std::chrono::milliseconds milliseconds);

}  // namespace barnabas
