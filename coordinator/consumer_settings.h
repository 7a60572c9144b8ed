#pragma once

#include <chrono>
#include <string_view>

#include "coordinator/shard_environment.h"

namespace barnabas::coordinator {

/// Also when the clock was set back: that must not hold a group up until it has caught up.
inline bool has_passed(TimestampMs since, int64_t interval_ms, TimestampMs now) {
  return now < since || now - since >= interval_ms;
}

/// What is in force for one group of the consumer protocol.
struct ConsumerGroupSettings {
  std::chrono::milliseconds session_timeout{45'000};
  std::chrono::milliseconds heartbeat_interval{5'000};
  /// At least this long between two assignments of a group.
  std::chrono::milliseconds assignment_interval{1'000};
  bool operator==(const ConsumerGroupSettings&) const = default;
};

/// Settings of groups (the config resource of type group), within the bounds that the broker's settings give,
/// over the broker's own values.
class ConsumerSettings {
 public:
  explicit ConsumerSettings(const ShardEnvironment& environment);

  /// Brokers' settings were changed at run time.
  void broker_changed();
  ConsumerGroupSettings of(std::string_view group) const;

 private:
  struct Bounds {
    std::chrono::milliseconds min;
    std::chrono::milliseconds max;
  };

  const ShardEnvironment& environment_;
  ConsumerGroupSettings defaults_;
  Bounds session_timeout_;
  Bounds heartbeat_interval_;
  Bounds assignment_interval_;
};

}  // namespace barnabas::coordinator
