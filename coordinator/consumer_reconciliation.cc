#include "coordinator/consumer_reconciliation.h"

#include <algorithm>

namespace barnabas::coordinator {
namespace {

const std::vector<int32_t> no_partitions;

bool contains(const OwnedPartitions& owned, const Uuid& topic, int32_t partition) {
  const auto found = owned.find(topic);
  return found != owned.end() && found->second.contains(partition);
}

class Reconciliation {
 public:
  Reconciliation(const ConsumerMember& member, const ReconciliationInput& input)
      : member_(member), input_(input) {}

  std::optional<ConsumerMember> next() const {
    switch (member_.state) {
      case ConsumerMemberState::stable:
        if (member_.epoch != input_.target_epoch) return towards_target(member_.epoch);
        return input_.subscription_changed ? without_unsubscribed() : member_;
      case ConsumerMemberState::unrevoked_partitions:
        if (!reports_any_of(member_.pending_revocation)) return towards_target(member_.epoch);
        return input_.subscription_changed ? without_unsubscribed() : member_;
      case ConsumerMemberState::unreleased_partitions:
        return towards_target(member_.epoch);
      case ConsumerMemberState::unknown:
        if (!input_.reported || !input_.reported->empty()) return std::nullopt;
        return towards_target(input_.target_epoch);
    }
    return member_;
  }

 private:
  /// Who says nothing may still hold all of it.
  bool reports_any_of(const OwnedPartitions& owned) const {
    if (!input_.reported) return true;
    for (const auto& [topic, partitions] : *input_.reported)
      for (const int32_t partition : partitions)
        if (contains(owned, topic, partition)) return true;
    return false;
  }

  const std::vector<int32_t>& target_of(const Uuid& topic) const {
    if (!input_.subscribed.contains(topic)) return no_partitions;
    const auto found = input_.target.find(topic);
    return found == input_.target.end() ? no_partitions : found->second;
  }

  ConsumerMember towards_target(int32_t epoch_meanwhile) const {
    OwnedPartitions kept;
    OwnedPartitions to_revoke;
    for (const auto& [topic, epochs] : member_.assigned) {
      const auto& target = target_of(topic);
      for (const auto& [partition, epoch] : epochs) {
        auto& place = std::ranges::binary_search(target, partition) ? kept : to_revoke;
        place[topic][partition] = epoch;
      }
    }
    ConsumerMember next = member_;
    if (!to_revoke.empty() && reports_any_of(to_revoke)) {
      next.state = ConsumerMemberState::unrevoked_partitions;
      next.move_to_epoch(epoch_meanwhile);
      next.assigned = std::move(kept);
      next.pending_revocation = std::move(to_revoke);
      return next;
    }
    bool waits = false;
    for (const auto& [topic, unused] : input_.target) {
      for (const int32_t partition : target_of(topic)) {
        if (contains(kept, topic, partition)) continue;
        if (input_.is_held(topic, partition) && !contains(member_.pending_revocation, topic, partition)) {
          waits = true;
        } else {
          kept[topic][partition] = input_.target_epoch;
        }
      }
    }
    next.state = waits ? ConsumerMemberState::unreleased_partitions : ConsumerMemberState::stable;
    next.move_to_epoch(input_.target_epoch);
    next.assigned = std::move(kept);
    next.pending_revocation.clear();
    return next;
  }

  /// The target is still that of the old subscription: only what is no longer subscribed to goes at once.
  ConsumerMember without_unsubscribed() const {
    ConsumerMember next = member_;
    for (const auto& [topic, epochs] : member_.assigned) {
      if (input_.subscribed.contains(topic)) continue;
      next.assigned.erase(topic);
      for (const auto& [partition, epoch] : epochs) next.pending_revocation[topic][partition] = epoch;
    }
    const bool has_nothing = input_.subscribed.empty() && member_.pending_revocation.empty();
    if (next.assigned == member_.assigned && !has_nothing) return member_;
    const OwnedPartitions to_revoke = next.pending_revocation;
    next.move_to_epoch(member_.epoch);
    if (reports_any_of(to_revoke)) {
      next.state = ConsumerMemberState::unrevoked_partitions;
    } else {
      next.pending_revocation = member_.pending_revocation;
    }
    return next;
  }

  const ConsumerMember& member_;
  const ReconciliationInput& input_;
};

}  // namespace

std::optional<ConsumerMember> reconciled(const ConsumerMember& member, const ReconciliationInput& input) {
  return Reconciliation(member, input).next();
}

}  // namespace barnabas::coordinator
