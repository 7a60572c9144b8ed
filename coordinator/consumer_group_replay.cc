#include "coordinator/consumer_group.h"

namespace barnabas::coordinator {

// Counts are kept as members come and go, so that a heartbeat need not walk over all of them.
void ConsumerGroup::count(const ConsumerMember& member, int32_t by) {
  const auto add = [by](auto& counts, const std::string& key) {
    auto& value = counts[key];
    value += static_cast<std::remove_reference_t<decltype(value)>>(by);
    if (value == 0) counts.erase(key);
  };
  for (const auto& topic : member.topics) {
    auto& counted = subscriptions_[topic];
    counted.by_name += by;
    if (counted == SubscriptionCount{}) subscriptions_.erase(topic);
  }
  if (member.assignor) add(assignors_, *member.assignor);
  if (member.has_regex()) add(regex_members_, *member.regex);
  if (member.classic) {
    classic_members_ += static_cast<std::size_t>(by);
    for (const auto& protocol : member.classic->protocols) add(classic_protocols_, protocol.name);
  }
}

void ConsumerGroup::release(const ConsumerMember& member) {
  for (const auto* held : {&member.assigned, &member.pending_revocation}) {
    for (const auto& [topic, partitions] : *held) {
      const auto found = holders_.find(topic);
      if (found == holders_.end()) continue;
      for (const auto& [partition, epoch] : partitions) {
        const auto holder = found->second.find(partition);
        if (holder != found->second.end() && holder->second == &member) found->second.erase(holder);
      }
      if (found->second.empty()) holders_.erase(found);
    }
  }
}

void ConsumerGroup::take_member(ConsumerMember next) {
  const auto [place, is_new] = members_.try_emplace(next.id);
  ConsumerMember& member = place->second;
  if (!is_new) {
    release(member);
    count(member, -1);
    if (member.instance_id) {
      const auto present = static_members_.find(*member.instance_id);
      if (present != static_members_.end() && present->second == member.id) static_members_.erase(present);
    }
  }
  member = std::move(next);
  count(member, 1);
  if (member.instance_id) static_members_[*member.instance_id] = member.id;
  for (const auto* held : {&member.assigned, &member.pending_revocation})
    for (const auto& [topic, partitions] : *held)
      for (const auto& [partition, epoch] : partitions) holders_[topic][partition] = &member;
}

void ConsumerGroup::remove_member(std::string_view id) {
  const auto found = members_.find(id);
  if (found == members_.end()) return;
  const ConsumerMember& member = found->second;
  release(member);
  count(member, -1);
  if (member.instance_id) {
    const auto present = static_members_.find(*member.instance_id);
    if (present != static_members_.end() && present->second == member.id) static_members_.erase(present);
  }
  if (const auto expected = heartbeats_expected_.find(id); expected != heartbeats_expected_.end())
    heartbeats_expected_.erase(expected);
  members_.erase(found);
}

void ConsumerGroup::take_target(std::string_view member_id, TopicPartitions target) {
  targets_[std::string(member_id)] = std::move(target);
}

void ConsumerGroup::remove_target(std::string_view member_id) {
  if (const auto found = targets_.find(member_id); found != targets_.end()) targets_.erase(found);
}

void ConsumerGroup::take_epoch(int32_t epoch, int64_t metadata_hash) {
  epoch_ = epoch;
  metadata_hash_ = metadata_hash;
}

void ConsumerGroup::take_assignment(int32_t epoch, TimestampMs at) {
  assignment_epoch_ = epoch;
  assigned_at_ = at;
}

void ConsumerGroup::take_resolved(std::string_view regex, std::optional<ResolvedRegex> resolved) {
  const auto add = [&](const std::string& topic, int32_t by) {
    auto& counted = subscriptions_[topic];
    counted.by_regex += by;
    if (counted == SubscriptionCount{}) subscriptions_.erase(topic);
  };
  if (const auto found = resolved_.find(std::string(regex)); found != resolved_.end()) {
    for (const auto& topic : found->second.topics) add(topic, -1);
    resolved_.erase(found);
  }
  if (!resolved) return;
  for (const auto& topic : resolved->topics) add(topic, 1);
  resolved_[std::string(regex)] = std::move(*resolved);
}

}  // namespace barnabas::coordinator
