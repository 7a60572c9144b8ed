#include <algorithm>

#include "coordinator/consumer_protocol.h"
#include "protocol/messages/consumer_group_current_member_assignment_key.h"
#include "protocol/messages/consumer_group_member_metadata_key.h"
#include "protocol/messages/consumer_group_metadata_key.h"
#include "protocol/messages/consumer_group_metadata_value.h"
#include "protocol/messages/consumer_group_partition_metadata_key.h"
#include "protocol/messages/consumer_group_partition_metadata_value.h"
#include "protocol/messages/consumer_group_regular_expression_key.h"
#include "protocol/messages/consumer_group_regular_expression_value.h"
#include "protocol/messages/consumer_group_target_assignment_member_key.h"
#include "protocol/messages/consumer_group_target_assignment_member_value.h"
#include "protocol/messages/consumer_group_target_assignment_metadata_key.h"
#include "protocol/messages/consumer_group_target_assignment_metadata_value.h"

// How a record changes its group. `value` null: a tombstone, of a group that is there. Order is what the log
// says; nothing is refused for it, since compaction takes records out.
namespace barnabas::coordinator {
namespace {

using namespace protocol;

ConsumerMember member_or_new(const ConsumerGroup& group, std::string_view id) {
  const ConsumerMember* found = group.member(id);
  return found != nullptr ? *found : ConsumerMember{.id = std::string(id)};
}

void apply(ConsumerGroup& group, const ConsumerGroupMemberMetadataKey& key,
           const ConsumerGroupMemberMetadataValue* value) {
  if (value == nullptr) return group.remove_member(key.member_id);
  ConsumerMember member = member_or_new(group, key.member_id);
  member.take(*value);
  group.take_member(std::move(member));
}

void apply(ConsumerGroup& group, const ConsumerGroupCurrentMemberAssignmentKey& key,
           const ConsumerGroupCurrentMemberAssignmentValue* value) {
  if (value == nullptr && group.member(key.member_id) == nullptr) return;
  ConsumerMember member = member_or_new(group, key.member_id);
  if (value != nullptr) {
    member.take(*value);
  } else {
    member.epoch = leave_epoch;
    member.previous_epoch = leave_epoch;
    member.assigned.clear();
    member.pending_revocation.clear();
  }
  group.take_member(std::move(member));
}

void apply(ConsumerGroup& group, const ConsumerGroupMetadataKey&, const ConsumerGroupMetadataValue* value) {
  if (value != nullptr) group.take_epoch(value->epoch, value->metadata_hash);
}

void apply(ConsumerGroup& group, const ConsumerGroupPartitionMetadataKey&,
           const ConsumerGroupPartitionMetadataValue* value) {
  group.take_partition_metadata(value != nullptr);
}

void apply(ConsumerGroup& group, const ConsumerGroupTargetAssignmentMemberKey& key,
           const ConsumerGroupTargetAssignmentMemberValue* value) {
  if (value == nullptr) return group.remove_target(key.member_id);
  TopicPartitions target;
  for (const auto& topic : value->topic_partitions) {
    auto partitions = topic.partitions;
    std::ranges::sort(partitions);
    const auto doubles = std::ranges::unique(partitions);
    partitions.erase(doubles.begin(), doubles.end());
    if (!partitions.empty()) target[topic.topic_id] = std::move(partitions);
  }
  group.take_target(key.member_id, std::move(target));
}

void apply(ConsumerGroup& group, const ConsumerGroupTargetAssignmentMetadataKey&,
           const ConsumerGroupTargetAssignmentMetadataValue* value) {
  if (value == nullptr) return group.take_assignment(-1, TimestampMs(0));
  group.take_assignment(value->assignment_epoch, TimestampMs(value->assignment_timestamp));
}

void apply(ConsumerGroup& group, const ConsumerGroupRegularExpressionKey& key,
           const ConsumerGroupRegularExpressionValue* value) {
  if (value == nullptr) return group.take_resolved(key.regular_expression, std::nullopt);
  ResolvedRegex resolved{{}, value->version, TimestampMs(value->timestamp)};
  for (const auto& topic : value->topics) resolved.topics.push_back(topic.str());
  sort_unique(resolved.topics);
  group.take_resolved(key.regular_expression, std::move(resolved));
}

}  // namespace

bool ConsumerProtocol::replays(int16_t record_type) {
  return (record_type >= ConsumerGroupMetadataKey::record_type &&
          record_type <= ConsumerGroupCurrentMemberAssignmentKey::record_type) ||
         record_type == ConsumerGroupRegularExpressionKey::record_type;
}

ConsumerGroup& ConsumerProtocol::group_to_fill(std::string_view id) {
  if (auto* group = groups_.find_as<ConsumerGroup>(id)) return *group;
  // A group of another kind under this id has been converted, or held offsets only.
  return static_cast<ConsumerGroup&>(groups_.put(std::make_unique<ConsumerGroup>(std::string(id))));
}

template <class Key, class Value>
Result<void> ConsumerProtocol::replay_as(ByteView key, const std::optional<ByteView>& value) {
  BARNABAS_ASSIGN(const auto record, (decode_coordinator_record<Key, Value>(key, value)));
  if (record.value) {
    apply(group_to_fill(record.key.group_id), record.key, &*record.value);
    return {};
  }
  auto* group = groups_.find_as<ConsumerGroup>(record.key.group_id);
  if (group == nullptr) return {};
  if constexpr (std::is_same_v<Key, ConsumerGroupMetadataKey>) {
    groups_.remove(record.key.group_id);
  } else {
    apply(*group, record.key, nullptr);
  }
  return {};
}

Result<void> ConsumerProtocol::replay(int16_t record_type, ByteView key,
                                      const std::optional<ByteView>& value) {
  switch (record_type) {
    case ConsumerGroupMetadataKey::record_type:
      return replay_as<ConsumerGroupMetadataKey, ConsumerGroupMetadataValue>(key, value);
    case ConsumerGroupPartitionMetadataKey::record_type:
      return replay_as<ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue>(key, value);
    case ConsumerGroupMemberMetadataKey::record_type:
      return replay_as<ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue>(key, value);
    case ConsumerGroupTargetAssignmentMetadataKey::record_type:
      return replay_as<ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue>(
          key, value);
    case ConsumerGroupTargetAssignmentMemberKey::record_type:
      return replay_as<ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue>(
          key, value);
    case ConsumerGroupCurrentMemberAssignmentKey::record_type:
      return replay_as<ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue>(
          key, value);
    case ConsumerGroupRegularExpressionKey::record_type:
      return replay_as<ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue>(key, value);
    default:
      return {};
  }
}

}  // namespace barnabas::coordinator
