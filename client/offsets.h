#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/cluster.h"

namespace barnabas::client {

struct TopicPartition {
  std::string topic;
  int32_t partition = 0;
  auto operator<=>(const TopicPartition&) const = default;
  std::string to_string() const { return topic + "-" + std::to_string(partition); }
};

/// Kafka's numbers for places that are no time.
inline constexpr int64_t latest_offset = -1;
inline constexpr int64_t earliest_offset = -2;

struct FoundOffset {
  int16_t error_code = 0;
  int64_t offset = -1;  ///< -1: no record is that young
  int64_t timestamp = -1;
};

/// Asks the leader of each partition for the offset of a time (milliseconds) or of one of the places above.
/// A partition without a leader has an error code. `read_committed`: the end is where open transactions
/// begin.
Result<std::map<TopicPartition, FoundOffset>> find_offsets(Cluster& cluster,
                                                           const std::map<TopicPartition, int64_t>& wanted,
                                                           bool read_committed = false);

/// The same place in all of them. Any error code is an error.
Result<std::map<TopicPartition, int64_t>> offsets_at(Cluster& cluster,
                                                     const std::vector<TopicPartition>& partitions,
                                                     int64_t place, bool read_committed = false);

/// All partitions of these topics, in order; a topic that is not there is an error.
Result<std::vector<TopicPartition>> partitions_of(Cluster& cluster, const std::vector<std::string>& topics);

/// "1700000000000" (milliseconds), "1700000000" (seconds: up to eleven digits), "2026-11-30",
/// "2026-11-30T10:00:00Z" (UTC; with fractions of a second or without), "-90m" (before `now_ms`; ms s m h d).
Result<int64_t> parse_time(std::string_view text, int64_t now_ms);
/// "2026-11-30T10:00:00.123Z"
std::string time_text(int64_t ms);

}  // namespace barnabas::client
