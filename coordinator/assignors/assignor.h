#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/uuid.h"

namespace barnabas::coordinator {

/// Partitions by topic, each list sorted and without doubles, none empty.
using TopicPartitions = std::map<Uuid, std::vector<int32_t>>;

/// One member, as an assignor sees it.
struct AssignorMember {
  std::string_view id;
  std::optional<std::string_view> instance_id;
  /// What it subscribes to and what exists; sorted. Never null.
  std::shared_ptr<const std::vector<Uuid>> topics;
  /// What it was meant to have so far; null: nothing. Borrowed for the call.
  const TopicPartitions* target = nullptr;
};

struct AssignorInput {
  std::vector<AssignorMember> members;  ///< sorted by id
  /// All members subscribe to the same topics.
  bool same_topics = true;
  std::map<Uuid, int32_t> partition_counts;  ///< of every topic that somebody subscribes to
};

/// What each member is to have, in the order of the input's members. Pure: the same input gives the same
/// output. No partition is given twice, and each of a topic with subscribers is given.
using Assignment = std::vector<TopicPartitions>;

/// "uniform" (KIP-848): everybody gets the same number of partitions, give or take one where subscriptions
/// are the same; who has a partition keeps it as far as that allows. As in Kafka 4.4, racks do not count.
Assignment assign_uniform(const AssignorInput& input);
/// Where members subscribe to different topics. Each partition goes to a subscriber with the fewest, then
/// what can be evened out within a topic is.
Assignment assign_uniform_heterogeneous(const AssignorInput& input);

/// "range": of each topic one run of partitions to each subscriber, in the order of instance ids and then
/// member ids, so that partitions of the same number of topics of the same size meet at one member.
Assignment assign_range(const AssignorInput& input);

using AssignorFunction = Assignment (*)(const AssignorInput&);
/// Null: there is none of this name.
AssignorFunction assignor_named(std::string_view name);

}  // namespace barnabas::coordinator
