#include "coordinator/consumer_protocol.h"

namespace barnabas::coordinator {
namespace {

using Described = protocol::ConsumerGroupDescribeResponse::DescribedGroup;
using DescribedMember = protocol::ConsumerGroupDescribeResponse::Member;
using DescribedAssignment = protocol::ConsumerGroupDescribeResponse::Assignment;

DescribedAssignment describe_assignment(const TopicPartitions& partitions,
                                        const metadata::MetadataImage& image) {
  DescribedAssignment assignment;
  for (const auto& [id, list] : partitions) {
    const auto* topic = image.topic(id);
    if (topic == nullptr) continue;
    auto& one = assignment.topic_partitions.emplace_back();
    one.topic_id = id;
    one.topic_name = topic->name;
    one.partitions = list;
  }
  return assignment;
}

DescribedMember describe_member(const ConsumerMember& member, const TopicPartitions& target,
                                const metadata::MetadataImage& image) {
  DescribedMember one;
  one.member_id = member.id;
  one.member_epoch = member.epoch;
  if (member.instance_id) one.instance_id = *member.instance_id;
  if (member.rack_id) one.rack_id = *member.rack_id;
  one.client_id = member.client_id;
  one.client_host = member.client_host;
  for (const auto& topic : member.topics) one.subscribed_topic_names.emplace_back(topic);
  one.subscribed_topic_regex.reset();
  if (member.regex) one.subscribed_topic_regex = *member.regex;
  TopicPartitions held = partitions_of(member.assigned);
  for (const auto& [topic, partitions] : partitions_of(member.pending_revocation)) {
    auto& list = held[topic];
    list.insert(list.end(), partitions.begin(), partitions.end());
  }
  one.assignment = describe_assignment(held, image);
  one.target_assignment = describe_assignment(target, image);
  one.member_type = member.classic ? 0 : 1;
  return one;
}

}  // namespace

Decision ConsumerProtocol::describe(std::string_view group_id, Reply<DescribedGroup> reply) const {
  return Decision::answer(reply.with(described(group_id)));
}

Described ConsumerProtocol::described(std::string_view group_id) const {
  Described answer;
  answer.group_id = group_id;
  const Group* any = groups_.find(group_id);
  const auto* group = dynamic_cast<const ConsumerGroup*>(any);
  if (group == nullptr) {
    answer.error_code = static_cast<int16_t>(protocol::ErrorCode::group_id_not_found);
    answer.error_message =
        "Group " + std::string(group_id) + (any == nullptr ? " not found." : " is not a consumer group.");
    return answer;
  }
  answer.group_state = group->state_name();
  answer.group_epoch = group->epoch();
  answer.assignment_epoch = group->assignment_epoch();
  answer.assignor_name = assignor_of(*group);
  for (const auto& [id, member] : group->members())
    answer.members.push_back(describe_member(member, group->target(id), *environment_.image));
  return answer;
}

}  // namespace barnabas::coordinator
