#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/history.h"
#include "sim/simulated_broker.h"

namespace barnabas::sim {

/// Watches a run: what was shown to readers stays (invariants 2 and 3 of docs/architecture.md), sequences and
/// order (4), one outcome everywhere and fencing (5), offsets (6). Each method returns what is broken, if
/// anything.
class Invariants {
 public:
  Invariants(SimulatedBroker& broker, const History& history) : broker_(broker), history_(history) {}

  using Broken = std::optional<std::string>;
  /// After each event.
  Broken after_event();
  /// When all producers are over and time enough has passed.
  Broken at_the_end();

 private:
  struct Seen {
    int64_t last_stable = 0;
    std::size_t batches = 0;
    std::map<std::pair<ProducerId, ProducerEpoch>, int32_t> sequences;
    std::map<ProducerId, Attempt*> open;
    std::map<std::string, int64_t> committed_numbers;
  };
  /// In how many partitions an attempt ended, and how.
  struct Ends {
    int committed = 0;
    int aborted = 0;
    std::map<PartitionName, std::set<int32_t>> written;
  };

  Broken look_at(const PartitionName& name, SimulatedPartition& partition, Seen& seen);
  Broken take(const PartitionName& name, const SimulatedBatch& batch, Seen& seen);
  Broken check_attempt(const Attempt& attempt, const Ends& ends) const;

  SimulatedBroker& broker_;
  const History& history_;
  std::map<PartitionName, Seen> seen_;
  std::map<const Attempt*, Ends> ends_;
};

}  // namespace barnabas::sim
