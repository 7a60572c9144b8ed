#include "coordinator/consumer_group.h"

#include <algorithm>

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;

const TopicPartitions no_partitions;

template <class Map, class Key>
void add(Map& counts, const Key& key, int32_t by) {
  auto& value = counts[key];
  value += static_cast<decltype(value + 0)>(by);
  if (value == 0) counts.erase(key);
}

void add_subscription(SubscriptionCounts& counts, const std::string& topic, int32_t by_name,
                      int32_t by_regex) {
  auto& value = counts[topic];
  value.by_name += by_name;
  value.by_regex += by_regex;
  if (value == SubscriptionCount{}) counts.erase(topic);
}

std::optional<std::string> regex_of(const ConsumerMember* member) {
  if (member == nullptr || !member->has_regex()) return std::nullopt;
  return member->regex;
}

}  // namespace

std::string_view ConsumerGroup::state_name() const {
  if (members_.empty()) return "Empty";
  if (epoch_ > assignment_epoch_) return "Assigning";
  const bool reconciled = std::ranges::all_of(
      members_, [&](const auto& entry) { return entry.second.is_reconciled_to(assignment_epoch_); });
  return reconciled ? "Stable" : "Reconciling";
}

ErrorCode ConsumerGroup::validate_offset_commit(std::string_view member_id,
                                                const std::optional<std::string>& instance_id,
                                                int32_t generation_or_member_epoch, bool transactional,
                                                int16_t version) const {
  const int32_t received = generation_or_member_epoch;
  if (received < 0 && members_.empty()) return ErrorCode::none;
  if (transactional && received == -1 && member_id.empty() && !instance_id) return ErrorCode::none;
  const ConsumerMember* found = member(member_id);
  if (found == nullptr) return ErrorCode::unknown_member_id;
  if (!transactional && !found->classic && version < 9) return ErrorCode::unsupported_version;
  if (received > found->epoch)
    return found->classic ? ErrorCode::illegal_generation : ErrorCode::stale_member_epoch;
  return ErrorCode::none;
}

ErrorCode ConsumerGroup::validate_partition_commit(std::string_view member_id,
                                                   int32_t generation_or_member_epoch, const Uuid& topic_id,
                                                   int32_t partition) const {
  const ConsumerMember* found = member(member_id);
  if (found == nullptr || generation_or_member_epoch == found->epoch) return ErrorCode::none;
  for (const auto* held : {&found->assigned, &found->pending_revocation}) {
    const auto topic = held->find(topic_id);
    if (topic == held->end()) continue;
    const auto since = topic->second.find(partition);
    if (since != topic->second.end() && generation_or_member_epoch >= since->second) return ErrorCode::none;
    if (since != topic->second.end()) break;
  }
  return found->classic ? ErrorCode::illegal_generation : ErrorCode::stale_member_epoch;
}

ErrorCode ConsumerGroup::validate_offset_fetch(const std::optional<std::string>& member_id,
                                               int32_t member_epoch) const {
  if (!member_id && member_epoch < 0) return ErrorCode::none;
  const ConsumerMember* found = member_id ? member(*member_id) : nullptr;
  if (found == nullptr) return ErrorCode::unknown_member_id;
  if (member_epoch == found->epoch) return ErrorCode::none;
  return found->classic ? ErrorCode::illegal_generation : ErrorCode::stale_member_epoch;
}

ErrorCode ConsumerGroup::validate_delete() const {
  return is_empty() ? ErrorCode::none : ErrorCode::non_empty_group;
}

bool ConsumerGroup::offset_is_expired(const OffsetAge& age, TimestampMs now,
                                      std::chrono::milliseconds retention) const {
  if (is_subscribed_to(age.topic)) return false;
  if (age.expires_at) return now >= *age.expires_at;
  return now - age.committed_at >= retention.count();
}

void ConsumerGroup::tombstones(std::vector<Record>& into) const {
  tombstones_replacing({}, {}, into);
}

void ConsumerGroup::tombstones_replacing(std::string_view leaving, std::string_view joining,
                                         std::vector<Record>& into) const {
  using namespace consumer_records;
  const auto for_members = [&](Record (*tombstone)(std::string_view, std::string_view)) {
    for (const auto& [id, member] : members_)
      into.push_back(tombstone(this->id(), !leaving.empty() && id == leaving ? joining : id));
  };
  for_members(current_assignment_tombstone);
  for_members(target_assignment_tombstone);
  into.push_back(target_metadata_tombstone(id()));
  for_members(member_metadata_tombstone);
  for (const auto& [regex, resolved] : resolved_) into.push_back(regular_expression_tombstone(id(), regex));
  into.push_back(partition_metadata_tombstone(id()));
  into.push_back(group_metadata_tombstone(id()));
}

const ConsumerMember* ConsumerGroup::member(std::string_view id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second;
}

const ConsumerMember* ConsumerGroup::static_member(const std::optional<std::string>& instance_id) const {
  if (!instance_id) return nullptr;
  const auto found = static_members_.find(*instance_id);
  return found == static_members_.end() ? nullptr : member(found->second);
}

const TopicPartitions& ConsumerGroup::target(std::string_view member_id) const {
  const auto found = targets_.find(member_id);
  return found == targets_.end() ? no_partitions : found->second;
}

const TopicPartitions& ConsumerGroup::target(const ConsumerMember& member) const {
  if (!member.instance_id) return target(member.id);
  const ConsumerMember* present = static_member(member.instance_id);
  return present == nullptr ? no_partitions : target(present->id);
}

const ConsumerMember* ConsumerGroup::holder(const Uuid& topic, int32_t partition) const {
  const auto found = holders_.find(topic);
  if (found == holders_.end()) return nullptr;
  const auto held = found->second.find(partition);
  return held == found->second.end() ? nullptr : held->second;
}

void ConsumerGroup::expect_heartbeat(std::string_view id, Instant at) {
  if (const auto found = heartbeats_expected_.find(id); found != heartbeats_expected_.end()) {
    found->second = at;
  } else if (member(id) != nullptr) {
    heartbeats_expected_.emplace(id, at);
  }
}

std::optional<Instant> ConsumerGroup::heartbeat_expected(std::string_view id) const {
  const auto found = heartbeats_expected_.find(id);
  return found == heartbeats_expected_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> ConsumerGroup::preferred_assignor(const ConsumerMember* old,
                                                             const ConsumerMember* next) const {
  auto counts = assignors_;
  if (old != nullptr && old->assignor) add(counts, *old->assignor, -1);
  if (next != nullptr && next->assignor) add(counts, *next->assignor, 1);
  std::optional<std::string> best;
  int32_t most = 0;
  for (const auto& [name, members] : counts) {
    if (members < most) continue;  // of equals "uniform" comes last, and Kafka takes it as well
    best = name;
    most = members;
  }
  return best;
}

SubscriptionCounts ConsumerGroup::subscriptions_with(const ConsumerMember* old,
                                                     const ConsumerMember* next) const {
  SubscriptionCounts counts = subscriptions_;
  if (old != nullptr)
    for (const auto& topic : old->topics) add_subscription(counts, topic, -1, 0);
  if (next != nullptr)
    for (const auto& topic : next->topics) add_subscription(counts, topic, 1, 0);
  const auto regex = regex_of(old);
  if (!regex || regex == regex_of(next)) return counts;
  const auto members = regex_members_.find(*regex);
  const auto known = resolved_.find(*regex);
  if (members != regex_members_.end() && members->second == 1 && known != resolved_.end())
    for (const auto& topic : known->second.topics) add_subscription(counts, topic, 0, -1);
  return counts;
}

std::map<std::string, int32_t> ConsumerGroup::regex_members_with(const ConsumerMember* old,
                                                                 const ConsumerMember* next) const {
  auto counts = regex_members_;
  if (const auto regex = regex_of(old)) add(counts, *regex, -1);
  if (const auto regex = regex_of(next)) add(counts, *regex, 1);
  return counts;
}

std::vector<std::string> ConsumerGroup::topics_of(const ConsumerMember& member) const {
  std::vector<std::string> topics = member.topics;
  if (member.has_regex()) {
    const auto known = resolved_.find(*member.regex);
    if (known != resolved_.end()) {
      topics.insert(topics.end(), known->second.topics.begin(), known->second.topics.end());
      sort_unique(topics);
    }
  }
  return topics;
}

bool ConsumerGroup::supports_classic(const std::vector<std::string_view>& protocols) const {
  if (is_empty()) return !protocols.empty();
  return std::ranges::any_of(protocols, [&](std::string_view name) {
    const auto found = classic_protocols_.find(name);
    return (found == classic_protocols_.end() ? 0 : found->second) == classic_members_;
  });
}

bool ConsumerGroup::waits_for_others(const ConsumerMember& member) const {
  if (member.state != ConsumerMemberState::unreleased_partitions) return false;
  for (const auto& [topic, partitions] : target(member.id)) {
    const auto owned = member.assigned.find(topic);
    for (const int32_t partition : partitions) {
      const bool has = owned != member.assigned.end() && owned->second.contains(partition);
      if (!has && is_held(topic, partition)) return true;
    }
  }
  return false;
}

}  // namespace barnabas::coordinator
