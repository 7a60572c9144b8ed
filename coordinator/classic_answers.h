#pragma once

#include "coordinator/classic_group.h"
#include "protocol/error_code.h"
#include "protocol/messages/describe_groups_response.h"

/// Answers of the classic protocol. They own their texts.
namespace barnabas::coordinator {

inline protocol::JoinGroupResponse join_refused(protocol::ErrorCode error, std::string_view member_id) {
  protocol::JoinGroupResponse response;
  response.error_code = protocol::to_wire(error);
  response.protocol_name.reset();
  response.member_id = member_id;
  return response;
}

/// Into the present generation. `with_members`: for whoever is to share out the partitions.
inline protocol::JoinGroupResponse joined(const ClassicGroup& group, const ClassicMember& member,
                                          bool with_members) {
  protocol::JoinGroupResponse response = join_refused(protocol::ErrorCode::none, member.id);
  response.generation_id = group.generation();
  response.protocol_type = group.protocol_type();
  if (group.protocol_name()) response.protocol_name = *group.protocol_name();
  response.leader = group.leader().value_or("");
  if (!with_members) return response;
  response.members.reserve(group.members().size());
  for (const auto& [id, one] : group.members()) {
    auto& listed = response.members.emplace_back();
    listed.member_id = id;
    if (one.instance_id) listed.group_instance_id = *one.instance_id;
    listed.metadata = one.metadata(group.protocol_name().value_or("")).owned();
  }
  return response;
}

inline protocol::SyncGroupResponse sync_refused(protocol::ErrorCode error) {
  protocol::SyncGroupResponse response;
  response.error_code = protocol::to_wire(error);
  return response;
}

inline protocol::SyncGroupResponse synced(const ClassicGroup& group, const ClassicMember& member) {
  protocol::SyncGroupResponse response;
  response.protocol_type = group.protocol_type();
  if (group.protocol_name()) response.protocol_name = *group.protocol_name();
  response.assignment = member.assignment.owned();
  return response;
}

/// Before version 6 of DescribeGroups what is not there is a dead group (KIP-1043). `is_other`: it is there,
/// and of another protocol.
inline protocol::DescribeGroupsResponse::DescribedGroup no_such_group(int16_t version, std::string_view id,
                                                                      bool is_other = false) {
  protocol::DescribeGroupsResponse::DescribedGroup described;
  described.group_id = id;
  described.group_state = name_of(ClassicState::dead);
  if (version < 6) return described;
  described.error_code = protocol::to_wire(protocol::ErrorCode::group_id_not_found);
  described.error_message =
      "Group " + std::string(id) + (is_other ? " is not a classic group." : " not found.");
  return described;
}

}  // namespace barnabas::coordinator
