#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "metrics/striped_counter.h"

namespace barnabas::broker {

/// What is counted of topics, as Kafka's BrokerTopicMetrics.
enum class Traffic : uint8_t {
  bytes_in,          ///< of batches appended, as they lie in the log
  bytes_out,         ///< of batches in answers to Fetch
  messages_in,       ///< records appended
  produce_requests,  ///< partitions in Produce requests
  fetch_requests,    ///< partitions in Fetch requests that were answered
  failed_produce_requests,
  failed_fetch_requests,
};
inline constexpr std::size_t traffic_kinds = 7;

/// Of all partitions together, those that are gone and those that never were included: it never falls. Any
/// thread; every produce and every fetch comes by, so threads do not share its cache lines.
class BrokerTraffic {
 public:
  void count(Traffic what, uint64_t amount) { counters_.add(static_cast<std::size_t>(what), amount); }
  uint64_t value(Traffic what) const { return counters_.value(static_cast<std::size_t>(what)); }

 private:
  metrics::StripedCounters<traffic_kinds> counters_;
};

/// Of one partition. Any thread.
class PartitionTraffic {
 public:
  void count(Traffic what, uint64_t amount) {
    counters_[static_cast<std::size_t>(what)].fetch_add(amount, std::memory_order_relaxed);
  }
  uint64_t value(Traffic what) const {
    return counters_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<uint64_t>, traffic_kinds> counters_{};
};

}  // namespace barnabas::broker
