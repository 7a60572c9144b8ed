#include "coordinator/consumer_member.h"

#include <algorithm>

namespace barnabas::coordinator {
namespace {

using protocol::ConsumerGroupCurrentMemberAssignmentValue;

std::optional<std::string> owned_text(const std::optional<protocol::String>& text) {
  if (!text) return std::nullopt;
  return text->str();
}

// Older versions kept no epochs: then all partitions count as given in the member's epoch.
OwnedPartitions owned_from(
    const std::vector<ConsumerGroupCurrentMemberAssignmentValue::TopicPartitions>& topics,
    int32_t member_epoch) {
  OwnedPartitions owned;
  for (const auto& topic : topics) {
    const bool has_epochs =
        topic.assignment_epochs && topic.assignment_epochs->size() == topic.partitions.size();
    auto& partitions = owned[topic.topic_id];
    for (std::size_t i = 0; i < topic.partitions.size(); ++i)
      partitions[topic.partitions[i]] =
          has_epochs ? (*topic.assignment_epochs)[i] : std::max<int32_t>(member_epoch, 0);
    if (partitions.empty()) owned.erase(topic.topic_id);
  }
  return owned;
}

ConsumerMemberState state_from(int8_t number) {
  switch (number) {
    case 0:
    case 1:
    case 2:
      return static_cast<ConsumerMemberState>(number);
    default:
      return ConsumerMemberState::unknown;
  }
}

}  // namespace

void ConsumerMember::take(const protocol::ConsumerGroupMemberMetadataValue& value) {
  instance_id = owned_text(value.instance_id);
  rack_id = owned_text(value.rack_id);
  client_id = value.client_id.str();
  client_host = value.client_host.str();
  topics.clear();
  for (const auto& name : value.subscribed_topic_names) topics.push_back(name.str());
  sort_unique(topics);
  regex = owned_text(value.subscribed_topic_regex);
  rebalance_timeout_ms = value.rebalance_timeout_ms;
  assignor = owned_text(value.server_assignor);
  classic.reset();
  if (!value.classic_member_metadata) return;
  auto& kept = classic.emplace();
  kept.session_timeout_ms = value.classic_member_metadata->session_timeout_ms;
  for (const auto& protocol : value.classic_member_metadata->supported_protocols) {
    const ByteView bytes = protocol.metadata;
    kept.protocols.push_back({protocol.name.str(), {bytes.begin(), bytes.end()}});
  }
}

void ConsumerMember::take(const ConsumerGroupCurrentMemberAssignmentValue& value) {
  epoch = value.member_epoch;
  previous_epoch = value.previous_member_epoch;
  state = state_from(value.state);
  assigned = owned_from(value.assigned_partitions, value.member_epoch);
  pending_revocation = owned_from(value.partitions_pending_revocation, value.member_epoch);
}

TopicPartitions partitions_of(const OwnedPartitions& owned) {
  TopicPartitions partitions;
  for (const auto& [topic, epochs] : owned) {
    auto& list = partitions[topic];
    list.reserve(epochs.size());
    for (const auto& [partition, epoch] : epochs) list.push_back(partition);
  }
  return partitions;
}

OwnedPartitions owned_at(const TopicPartitions& partitions, int32_t epoch) {
  OwnedPartitions owned;
  for (const auto& [topic, list] : partitions)
    for (const int32_t partition : list) owned[topic][partition] = epoch;
  return owned;
}

void sort_unique(std::vector<std::string>& names) {
  std::ranges::sort(names);
  const auto doubles = std::ranges::unique(names);
  names.erase(doubles.begin(), doubles.end());
}

}  // namespace barnabas::coordinator
