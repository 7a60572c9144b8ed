// What the broker acknowledged, and the check of a partition's content against it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "payload.h"

namespace barnabas::compat {

// The fate of one record: its offset, or one of the two below.
using Fate = std::int64_t;
inline constexpr Fate not_acknowledged = -2;        // may be in the log once, or not at all
inline constexpr Fate acknowledged_somewhere = -1;  // must be there; the broker did not say at which offset

// One producer's records in one partition, by sequence. A deque: delivery reports hold addresses of its
// elements.
using Fates = std::deque<Fate>;

// All that was sent to one partition. Producers are added before the partition is checked; their Fates stay
// where they are, so each producer may write into its own without a lock.
class PartitionLedger {
 public:
  explicit PartitionLedger(std::string name) : name_(std::move(name)) {}

  void add(std::uint32_t producer, const Fates& fates) { sent_.emplace(producer, Entry{&fates}); }

  // To be called with each record of the partition in the order of the log, then finish().
  void check(std::int64_t offset, std::string_view value);
  void finish();

  std::uint64_t acknowledged() const { return acknowledged_; }
  std::uint64_t found_unacknowledged() const { return found_unacknowledged_; }
  std::uint64_t records() const { return records_; }
  // The first few; empty when the partition is as it must be.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Entry {
    const Fates* fates;
    std::uint64_t next = 0;  // all below were seen, or are known to be lost
  };

  void skip_to(std::uint32_t producer, Entry& entry, std::uint64_t sequence);
  void problem(const std::string& what);

  std::string name_;
  std::map<std::uint32_t, Entry> sent_;
  std::int64_t next_offset_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t found_unacknowledged_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace barnabas::compat
