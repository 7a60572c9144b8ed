#include "coordinator/consumer_member.h"
#include "protocol/messages/consumer_group_current_member_assignment_key.h"
#include "protocol/messages/consumer_group_member_metadata_key.h"
#include "protocol/messages/consumer_group_metadata_key.h"
#include "protocol/messages/consumer_group_metadata_value.h"
#include "protocol/messages/consumer_group_partition_metadata_key.h"
#include "protocol/messages/consumer_group_regular_expression_key.h"
#include "protocol/messages/consumer_group_regular_expression_value.h"
#include "protocol/messages/consumer_group_target_assignment_member_key.h"
#include "protocol/messages/consumer_group_target_assignment_member_value.h"
#include "protocol/messages/consumer_group_target_assignment_metadata_key.h"
#include "protocol/messages/consumer_group_target_assignment_metadata_value.h"

namespace barnabas::coordinator::consumer_records {
namespace {

using protocol::String;

// Everything is encoded before these functions return, so nothing is copied.
template <class Key>
Key member_key(std::string_view group, std::string_view member) {
  Key key;
  key.group_id = String::view_of(group);
  key.member_id = String::view_of(member);
  return key;
}

template <class Key>
Key group_key(std::string_view group) {
  Key key;
  key.group_id = String::view_of(group);
  return key;
}

std::optional<String> borrowed(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return String::view_of(*text);
}

std::vector<protocol::ConsumerGroupCurrentMemberAssignmentValue::TopicPartitions> with_epochs(
    const OwnedPartitions& owned) {
  std::vector<protocol::ConsumerGroupCurrentMemberAssignmentValue::TopicPartitions> topics;
  for (const auto& [topic, epochs] : owned) {
    auto& one = topics.emplace_back();
    one.topic_id = topic;
    for (const auto& [partition, epoch] : epochs) {
      one.partitions.push_back(partition);
      one.assignment_epochs->push_back(epoch);
    }
  }
  return topics;
}

}  // namespace

Record member_metadata(std::string_view group, const ConsumerMember& member) {
  protocol::ConsumerGroupMemberMetadataValue value;
  value.instance_id = borrowed(member.instance_id);
  value.rack_id = borrowed(member.rack_id);
  value.client_id = String::view_of(member.client_id);
  value.client_host = String::view_of(member.client_host);
  for (const auto& name : member.topics) value.subscribed_topic_names.push_back(String::view_of(name));
  value.subscribed_topic_regex = borrowed(member.regex);
  value.rebalance_timeout_ms = member.rebalance_timeout_ms;
  value.server_assignor = borrowed(member.assignor);
  value.classic_member_metadata.reset();
  if (member.classic) {
    auto& classic = value.classic_member_metadata.emplace();
    classic.session_timeout_ms = member.classic->session_timeout_ms;
    for (const auto& protocol : member.classic->protocols) {
      auto& one = classic.supported_protocols.emplace_back();
      one.name = String::view_of(protocol.name);
      one.metadata = protocol::Bytes::view_of(protocol.metadata);
    }
  }
  return record_of(member_key<protocol::ConsumerGroupMemberMetadataKey>(group, member.id), value, 0);
}

Record member_metadata_tombstone(std::string_view group, std::string_view member) {
  return tombstone_of(member_key<protocol::ConsumerGroupMemberMetadataKey>(group, member));
}

Record current_assignment(std::string_view group, const ConsumerMember& member) {
  protocol::ConsumerGroupCurrentMemberAssignmentValue value;
  value.member_epoch = member.epoch;
  value.previous_member_epoch = member.previous_epoch;
  value.state = static_cast<int8_t>(member.state);
  value.assigned_partitions = with_epochs(member.assigned);
  value.partitions_pending_revocation = with_epochs(member.pending_revocation);
  return record_of(member_key<protocol::ConsumerGroupCurrentMemberAssignmentKey>(group, member.id), value, 0);
}

Record current_assignment_tombstone(std::string_view group, std::string_view member) {
  return tombstone_of(member_key<protocol::ConsumerGroupCurrentMemberAssignmentKey>(group, member));
}

Record target_assignment(std::string_view group, std::string_view member, const TopicPartitions& partitions) {
  protocol::ConsumerGroupTargetAssignmentMemberValue value;
  for (const auto& [topic, list] : partitions) {
    auto& one = value.topic_partitions.emplace_back();
    one.topic_id = topic;
    one.partitions = list;
  }
  return record_of(member_key<protocol::ConsumerGroupTargetAssignmentMemberKey>(group, member), value, 0);
}

Record target_assignment_tombstone(std::string_view group, std::string_view member) {
  return tombstone_of(member_key<protocol::ConsumerGroupTargetAssignmentMemberKey>(group, member));
}

Record target_metadata(std::string_view group, int32_t epoch, TimestampMs made_at) {
  protocol::ConsumerGroupTargetAssignmentMetadataValue value;
  value.assignment_epoch = epoch;
  value.assignment_timestamp = made_at.value();
  return record_of(group_key<protocol::ConsumerGroupTargetAssignmentMetadataKey>(group), value, 0);
}

Record target_metadata_tombstone(std::string_view group) {
  return tombstone_of(group_key<protocol::ConsumerGroupTargetAssignmentMetadataKey>(group));
}

Record group_metadata(std::string_view group, int32_t epoch, int64_t metadata_hash) {
  protocol::ConsumerGroupMetadataValue value;
  value.epoch = epoch;
  value.metadata_hash = metadata_hash;
  return record_of(group_key<protocol::ConsumerGroupMetadataKey>(group), value, 0);
}

Record group_metadata_tombstone(std::string_view group) {
  return tombstone_of(group_key<protocol::ConsumerGroupMetadataKey>(group));
}

Record partition_metadata_tombstone(std::string_view group) {
  return tombstone_of(group_key<protocol::ConsumerGroupPartitionMetadataKey>(group));
}

Record regular_expression(std::string_view group, std::string_view regex,
                          const std::vector<std::string>& topics, int64_t version, TimestampMs at) {
  protocol::ConsumerGroupRegularExpressionKey key;
  key.group_id = String::view_of(group);
  key.regular_expression = String::view_of(regex);
  protocol::ConsumerGroupRegularExpressionValue value;
  for (const auto& topic : topics) value.topics.push_back(String::view_of(topic));
  value.version = version;
  value.timestamp = at.value();
  return record_of(key, value, 0);
}

Record regular_expression_tombstone(std::string_view group, std::string_view regex) {
  protocol::ConsumerGroupRegularExpressionKey key;
  key.group_id = String::view_of(group);
  key.regular_expression = String::view_of(regex);
  return tombstone_of(key);
}

}  // namespace barnabas::coordinator::consumer_records
