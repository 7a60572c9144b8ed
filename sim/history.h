#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace barnabas::sim {

using PartitionName = std::pair<std::string, int32_t>;

/// One transaction as its producer knows it.
struct Attempt {
  enum class Outcome { unknown, committed, aborted };

  std::string transactional_id;
  int64_t number = 0;    ///< ascending for each transactional id
  int64_t instance = 0;  ///< which of the producers with this id, ascending
  bool asked_to_commit = false;
  Outcome told = Outcome::unknown;
  std::map<PartitionName, std::set<int32_t>> acknowledged;  ///< first sequences of batches
};

/// What all producers did.
struct History {
  std::list<Attempt> attempts;
  /// By transactional id: producers before this one have been told, by its start, that they are over.
  std::map<std::string, int64_t> first_live_instance;
  std::map<std::string, int64_t> last_number;
  int64_t acknowledged_commits = 0;
};

}  // namespace barnabas::sim
