#include <algorithm>

#include "coordinator/assignors/assignor.h"

namespace barnabas::coordinator {
namespace {

/// What is left of a topic while its partitions are handed out in the order of members.
struct Topic {
  int32_t partitions = 0;
  int32_t subscribers = 0;
  int32_t next = 0;
  int32_t extra = 0;  ///< subscribers that still get one more than the others
};

std::vector<std::size_t> in_order(const AssignorInput& input) {
  std::vector<std::size_t> order(input.members.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
    const AssignorMember& a = input.members[left];
    const AssignorMember& b = input.members[right];
    if (a.instance_id && b.instance_id) return *a.instance_id < *b.instance_id;
    if (a.instance_id || b.instance_id) return a.instance_id.has_value();
    return a.id < b.id;
  });
  return order;
}

}  // namespace

Assignment assign_range(const AssignorInput& input) {
  std::map<Uuid, Topic> topics;
  for (const auto& [id, count] : input.partition_counts) topics[id].partitions = count;
  for (const AssignorMember& member : input.members)
    for (const Uuid& id : *member.topics) ++topics.at(id).subscribers;
  for (auto& [id, topic] : topics)
    if (topic.subscribers > 0) topic.extra = topic.partitions % topic.subscribers;

  Assignment assignment(input.members.size());
  for (const std::size_t index : in_order(input)) {
    for (const Uuid& id : *input.members[index].topics) {
      Topic& topic = topics.at(id);
      int32_t quota = topic.partitions / topic.subscribers;
      if (topic.extra > 0) {
        ++quota;
        --topic.extra;
      }
      if (quota == 0) continue;
      auto& list = assignment[index][id];
      for (int32_t i = 0; i < quota; ++i) list.push_back(topic.next++);
    }
  }
  return assignment;
}

AssignorFunction assignor_named(std::string_view name) {
  if (name == "uniform") return assign_uniform;
  if (name == "range") return assign_range;
  return nullptr;
}

}  // namespace barnabas::coordinator
