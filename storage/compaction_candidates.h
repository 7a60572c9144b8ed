#pragma once

#include <mutex>
#include <set>
#include <vector>

#include "storage/topic_partition.h"

namespace barnabas::storage {

/// The partitions whose cleanup policy contains compact, so that nobody need go through all to find them.
/// Logs enter and leave themselves as their settings change; who takes a log out of service removes its name.
/// Safe for several threads.
class CompactionCandidates {
 public:
  void set(const TopicPartition& name, bool is_candidate) {
    const std::lock_guard guard(mutex_);
    if (is_candidate)
      names_.insert(name);
    else
      names_.erase(name);
  }
  std::vector<TopicPartition> all() const {
    const std::lock_guard guard(mutex_);
    return {names_.begin(), names_.end()};
  }

 private:
  mutable std::mutex mutex_;
  std::set<TopicPartition> names_;
};

}  // namespace barnabas::storage
