#include <algorithm>
#include <optional>

#include "coordinator/assignors/assignor.h"
#include "coordinator/assignors/member_balancer.h"

namespace barnabas::coordinator {
namespace {

constexpr int balance_rounds_max = 16;
constexpr int32_t nobody = -1;

struct Topic {
  std::vector<std::size_t> subscribers;
  std::vector<int32_t> owners;  ///< by partition: a member, or nobody
};

class DifferentTopics {
 public:
  explicit DifferentTopics(const AssignorInput& input)
      : input_(input), sizes_(input.members.size()), balancer_(sizes_) {
    for (std::size_t i = 0; i < input.members.size(); ++i)
      for (const Uuid& id : *input.members[i].topics) topics_[id].subscribers.push_back(i);
    for (auto& [id, topic] : topics_)
      topic.owners.assign(static_cast<std::size_t>(input.partition_counts.at(id)), nobody);
  }

  Assignment build() {
    keep();
    const auto order = by_load();
    for (Topic* topic : order) hand_out(*topic);
    balance(order);
    return result();
  }

 private:
  void keep() {
    for (std::size_t i = 0; i < input_.members.size(); ++i) {
      const AssignorMember& member = input_.members[i];
      if (member.target == nullptr) continue;
      for (const auto& [id, partitions] : *member.target) {
        if (!std::ranges::binary_search(*member.topics, id)) continue;
        auto& owners = topics_.at(id).owners;
        for (const int32_t partition : partitions) {
          const auto at = static_cast<std::size_t>(partition);
          if (partition < 0 || at >= owners.size() || owners[at] != nobody) continue;
          give(owners[at], i);
        }
      }
    }
  }

  void give(int32_t& owner, std::size_t member) {
    if (owner != nobody) --sizes_[static_cast<std::size_t>(owner)];
    owner = static_cast<int32_t>(member);
    ++sizes_[member];
  }

  /// Topics with the most partitions for each subscriber first; then those with the fewest subscribers.
  std::vector<Topic*> by_load() {
    std::vector<Topic*> order;
    for (auto& [id, topic] : topics_) order.push_back(&topic);
    std::ranges::stable_sort(order, [](const Topic* a, const Topic* b) {
      // partitions / subscribers, without rounding
      const auto left = a->owners.size() * b->subscribers.size();
      const auto right = b->owners.size() * a->subscribers.size();
      if (left != right) return left > right;
      return a->subscribers.size() < b->subscribers.size();
    });
    return order;
  }

  void hand_out(Topic& topic) {
    if (std::ranges::find(topic.owners, nobody) == topic.owners.end()) return;
    balancer_.begin(topic.subscribers);
    for (int32_t& owner : topic.owners)
      if (owner == nobody) give(owner, balancer_.next_least());
  }

  /// Round by round until a whole round moved nothing.
  void balance(const std::vector<Topic*>& order) {
    const Topic* last_changed = nullptr;
    for (int round = 0; round < balance_rounds_max; ++round) {
      for (Topic* topic : order) {
        if (topic->subscribers.size() < 2) continue;
        if (topic == last_changed) return;
        if (even_out(*topic) > 0 || last_changed == nullptr) last_changed = topic;
      }
    }
  }

  int even_out(Topic& topic) {
    if (balancer_.begin(topic.subscribers) <= 1) return 0;
    std::map<std::size_t, std::vector<std::size_t>> owned;  // its last partition is the first to go
    for (std::size_t partition = 0; partition < topic.owners.size(); ++partition)
      owned[static_cast<std::size_t>(topic.owners[partition])].push_back(partition);

    int moved = 0;
    while (!balancer_.is_balanced()) {
      auto most = balancer_.next_most();
      while (most && owned[*most].empty()) {
        balancer_.exclude_most();
        most = balancer_.next_most();
      }
      if (!most) break;
      const std::size_t partition = owned[*most].back();
      owned[*most].pop_back();
      const std::size_t least = balancer_.next_least();
      if (balancer_.is_balanced()) break;
      give(topic.owners[partition], least);
      ++moved;
    }
    return moved;
  }

  Assignment result() const {
    Assignment assignment(input_.members.size());
    for (const auto& [id, topic] : topics_)
      for (std::size_t partition = 0; partition < topic.owners.size(); ++partition)
        assignment[static_cast<std::size_t>(topic.owners[partition])][id].push_back(
            static_cast<int32_t>(partition));
    return assignment;
  }

  const AssignorInput& input_;
  std::vector<int32_t> sizes_;
  MemberBalancer balancer_;
  std::map<Uuid, Topic> topics_;
};

}  // namespace

Assignment assign_uniform_heterogeneous(const AssignorInput& input) {
  return DifferentTopics(input).build();
}

}  // namespace barnabas::coordinator
