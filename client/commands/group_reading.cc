#include "client/commands/group_reading.h"

#include "protocol/messages/consumer_group_describe_request.h"
#include "protocol/messages/consumer_group_describe_response.h"
#include "protocol/messages/consumer_protocol_assignment.h"
#include "protocol/messages/describe_groups_request.h"
#include "protocol/messages/describe_groups_response.h"
#include "protocol/messages/offset_fetch_request.h"
#include "protocol/messages/offset_fetch_response.h"

namespace barnabas::client {
namespace {

using protocol::ErrorCode;

std::optional<std::string> text_of(const std::optional<protocol::String>& text) {
  if (!text) return std::nullopt;
  return text->str();
}

/// What a member of the classic protocol was given; nothing where it is no consumer's.
std::vector<TopicPartition> assignment_of(ByteView bytes) {
  std::vector<TopicPartition> partitions;
  protocol::Reader reader(bytes);
  const int16_t version = reader.int16();
  if (!reader.ok() || version < 0) return partitions;
  using Assignment = protocol::ConsumerProtocolAssignment;
  const auto assignment = Assignment::decode(reader, std::min(version, Assignment::max_version));
  if (!assignment) return partitions;
  for (const auto& topic : assignment->assigned_partitions)
    for (const int32_t each : topic.partitions) partitions.push_back({topic.topic.str(), each});
  return partitions;
}

Result<GroupState> read_consumer_group(const protocol::ConsumerGroupDescribeResponse::DescribedGroup& group) {
  GroupState state{.id = group.group_id.str(),
                   .type = "consumer",
                   .state = group.group_state.str(),
                   .assignor = group.assignor_name.str(),
                   .members = {}};
  for (const auto& each : group.members) {
    GroupMember member{
        each.member_id.str(), each.client_id.str(), each.client_host.str(), text_of(each.instance_id), {}};
    for (const auto& topic : each.assignment.topic_partitions)
      for (const int32_t partition : topic.partitions)
        member.assigned.push_back({topic.topic_name.str(), partition});
    state.members.push_back(std::move(member));
  }
  return state;
}

Result<GroupState> read_classic_group(Cluster& cluster, const std::string& name) {
  protocol::DescribeGroupsRequest request;
  request.groups.emplace_back(name);
  BARNABAS_ASSIGN(const auto answer, ask_coordinator(cluster, name, request, [](const auto& body) {
                    return body.groups.empty() ? int16_t{0} : body.groups.front().error_code;
                  }));
  if (answer->groups.empty()) return fail(ErrorKind::invalid, "the coordinator says nothing about it");
  const auto& group = answer->groups.front();
  if (group.error_code != 0)
    return fail(group.error_code == protocol::to_wire(ErrorCode::group_id_not_found) ? ErrorKind::not_found
                                                                                     : ErrorKind::invalid,
                error_text(group.error_code, group.error_message));
  // Before version 6 a group that is not there is Dead.
  if (group.group_state == "Dead") return fail(ErrorKind::not_found, "there is no such group");
  GroupState state{.id = group.group_id.str(),
                   .type = "classic",
                   .state = group.group_state.str(),
                   .assignor = group.protocol_data.str(),
                   .members = {}};
  for (const auto& each : group.members)
    state.members.push_back({each.member_id.str(), each.client_id.str(), each.client_host.str(),
                             text_of(each.group_instance_id), assignment_of(each.member_assignment)});
  return state;
}

}  // namespace

Result<GroupState> read_group(Cluster& cluster, const std::string& name) {
  if (!cluster.first().serves(protocol::ApiKey::consumer_group_describe))
    return read_classic_group(cluster, name);
  protocol::ConsumerGroupDescribeRequest request;
  request.group_ids.emplace_back(name);
  BARNABAS_ASSIGN(const auto answer, ask_coordinator(cluster, name, request, [](const auto& body) {
                    return body.groups.empty() ? int16_t{0} : body.groups.front().error_code;
                  }));
  if (!answer->groups.empty() && answer->groups.front().error_code == 0)
    return read_consumer_group(answer->groups.front());
  // It has the other protocol, is not there, or the broker does not serve this one.
  return read_classic_group(cluster, name);
}

Result<CommittedOffsets> committed_offsets(Cluster& cluster, const std::string& group) {
  protocol::OffsetFetchRequest request;
  request.group_id = group;
  request.topics = std::nullopt;
  // Up to version 7 a request is about one group, and topics go by name.
  BARNABAS_ASSIGN(const auto answer,
                  ask_coordinator(
                      cluster, group, request, [](const auto& body) { return body.error_code; }, 7));
  if (answer->error_code != 0) return fail(ErrorKind::invalid, error_text(answer->error_code));
  CommittedOffsets offsets;
  for (const auto& topic : answer->topics) {
    for (const auto& each : topic.partitions) {
      const TopicPartition partition{topic.name.str(), each.partition_index};
      if (each.error_code != 0)
        return fail(ErrorKind::invalid, partition.to_string() + ": " + error_text(each.error_code));
      if (each.committed_offset >= 0) offsets[partition] = each.committed_offset;
    }
  }
  return offsets;
}

}  // namespace barnabas::client
