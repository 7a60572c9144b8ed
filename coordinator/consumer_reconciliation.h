#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "coordinator/consumer_member.h"

namespace barnabas::coordinator {

/// What a member is reconciled with.
struct ReconciliationInput {
  int32_t target_epoch = 0;
  const TopicPartitions& target;
  /// Topics that it subscribes to and that exist: of others it gets nothing, whatever the target says.
  const std::set<Uuid>& subscribed;
  bool subscription_changed = false;
  /// Whether a member has the partition now, also if that has been told to give it up.
  const std::function<bool(const Uuid& topic, int32_t partition)>& is_held;
  /// What the member says it holds; nothing: it did not say.
  std::optional<TopicPartitions> reported;
};

/// The next step of a member towards its target (KIP-848). What is to go is taken away first, and the member
/// stays in its epoch until it no longer reports that; then it moves to the target's epoch and gets what
/// nobody else holds. Nothing: a member in a state of a newer version, which has to join anew.
std::optional<ConsumerMember> reconciled(const ConsumerMember& member, const ReconciliationInput& input);

}  // namespace barnabas::coordinator
