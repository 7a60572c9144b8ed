#include <algorithm>
#include <set>

#include "coordinator/assignors/assignor.h"

namespace barnabas::coordinator {
namespace {

struct TopicPartition {
  Uuid topic;
  int32_t partition = 0;
};

/// All members subscribe to the same topics: everybody gets total / members, and the first total % members
/// that may keep one more, do.
class SameTopics {
 public:
  explicit SameTopics(const AssignorInput& input) : input_(input), assignment_(input.members.size()) {}

  Assignment build() {
    int64_t total = 0;
    for (const auto& [id, count] : input_.partition_counts) {
      given_[id].resize(static_cast<std::size_t>(count));
      total += count;
    }
    const auto members = static_cast<int64_t>(input_.members.size());
    quota_ = total / members;
    extra_ = total % members;
    for (std::size_t i = 0; i < input_.members.size(); ++i) keep(i);
    hand_out();
    return std::move(assignment_);
  }

 private:
  /// A topic is kept as a whole where the quota allows it; what goes over the quota goes to others.
  void keep(std::size_t index) {
    const bool may_have_extra = extra_ > 0;
    int64_t quota = quota_ + (may_have_extra ? 1 : 0);
    if (const TopicPartitions* target = input_.members[index].target; target != nullptr) {
      for (const auto& [topic, partitions] : *target) {
        const auto given = given_.find(topic);
        if (given == given_.end()) continue;  // it is gone, or nobody subscribes to it any more
        for (const int32_t partition : partitions) {
          const auto at = static_cast<std::size_t>(partition);
          if (quota == 0 || partition < 0 || at >= given->second.size() || given->second[at]) continue;
          given->second[at] = true;
          assignment_[index][topic].push_back(partition);
          --quota;
        }
      }
    }
    bool has_extra = may_have_extra;
    // One extra is left for each that comes later: those that have one already are not to lose it.
    const auto left = static_cast<int64_t>(input_.members.size() - index);
    if (quota > 0 && may_have_extra && left > extra_) {
      --quota;
      has_extra = false;
    }
    if (quota > 0) unfilled_.push_back({index, quota});
    if (has_extra) --extra_;
  }

  void hand_out() {
    auto unfilled = unfilled_.begin();
    for (const auto& [topic, given] : given_) {
      for (std::size_t partition = 0; partition < given.size(); ++partition) {
        if (given[partition]) continue;
        while (unfilled->second == 0) ++unfilled;
        assignment_[unfilled->first][topic].push_back(static_cast<int32_t>(partition));
        --unfilled->second;
      }
    }
    for (const auto& [index, quota] : unfilled_)
      for (auto& [topic, partitions] : assignment_[index]) std::ranges::sort(partitions);
  }

  const AssignorInput& input_;
  Assignment assignment_;
  std::map<Uuid, std::vector<bool>> given_;
  std::vector<std::pair<std::size_t, int64_t>> unfilled_;  ///< member, how many it lacks
  int64_t quota_ = 0;
  int64_t extra_ = 0;
};

}  // namespace

Assignment assign_uniform(const AssignorInput& input) {
  if (input.members.empty() || input.partition_counts.empty()) return Assignment(input.members.size());
  return input.same_topics ? SameTopics(input).build() : assign_uniform_heterogeneous(input);
}

}  // namespace barnabas::coordinator
