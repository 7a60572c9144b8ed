#include "coordinator/classic_group.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "protocol/messages/consumer_protocol_subscription.h"

namespace barnabas::coordinator {

using protocol::ErrorCode;

std::string_view name_of(ClassicState state) {
  static constexpr std::array<std::string_view, 5> names{"Empty", "PreparingRebalance", "CompletingRebalance",
                                                         "Stable", "Dead"};
  return names[static_cast<std::size_t>(state)];
}

const protocol::Bytes& ClassicMember::metadata(std::string_view protocol) const {
  static const protocol::Bytes nothing;
  const auto found = std::ranges::find(protocols, protocol, &ClassicMemberProtocol::name);
  return found == protocols.end() ? nothing : found->metadata;
}

ClassicGroup::ClassicGroup(std::string id, TimestampMs now) : Group(std::move(id)), state_since_(now) {}

// --- state

void ClassicGroup::enter(ClassicState state, TimestampMs now) {
  previous_state_ = state_;
  state_ = state;
  state_since_ = now;
}

void ClassicGroup::begin_generation(TimestampMs now) {
  ++generation_;
  protocol_name_.reset();
  if (!members_.empty()) protocol_name_ = select_protocol();
  read_subscriptions();
  unsynced_.clear();
  enter(members_.empty() ? ClassicState::empty : ClassicState::completing_rebalance, now);
}

std::string ClassicGroup::select_protocol() const {
  BARNABAS_ASSERT(!members_.empty());
  std::map<std::string_view, std::size_t> votes;
  for (const auto& [id, member] : members_) {
    const auto spoken_by_all = [this](const ClassicMemberProtocol& protocol) {
      const auto found = protocols_.find(protocol.name);
      return found != protocols_.end() && found->second == members_.size();
    };
    const auto choice = std::ranges::find_if(member.protocols, spoken_by_all);
    // Nobody is let in who shares no protocol with all others.
    BARNABAS_ASSERT(choice != member.protocols.end());
    ++votes[choice->name];
  }
  const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  return std::string(most->first);
}

bool ClassicGroup::supports(std::string_view type,
                            const std::vector<ClassicMemberProtocol>& protocols) const {
  if (is_empty()) return !type.empty() && !protocols.empty();
  if (protocol_type_ != type) return false;
  return std::ranges::any_of(protocols, [this](const ClassicMemberProtocol& protocol) {
    const auto found = protocols_.find(protocol.name);
    return (found == protocols_.end() ? 0 : found->second) == members_.size();
  });
}

// The topics come first in every version of a subscription, so version 0 reads them all.
void ClassicGroup::read_subscriptions() {
  subscribed_topics_.reset();
  if (!uses_consumer_protocol()) return;
  std::set<std::string, std::less<>> topics;
  for (const auto& [id, member] : members_) {
    protocol::Reader reader(member.metadata(*protocol_name_));
    reader.int16();  // its version
    const auto subscription = protocol::ConsumerProtocolSubscription::decode(reader, 0);
    if (!subscription) return;
    for (const protocol::String& topic : subscription->topics) topics.emplace(topic.view());
  }
  subscribed_topics_ = std::move(topics);
}

// --- members

ClassicMember* ClassicGroup::find_member(std::string_view id) {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second;
}

const ClassicMember* ClassicGroup::find_member(std::string_view id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second;
}

const std::string* ClassicGroup::find_static(std::string_view instance_id) const {
  const auto found = static_members_.find(instance_id);
  return found == static_members_.end() ? nullptr : &found->second;
}

ErrorCode ClassicGroup::validate_member(std::string_view id,
                                        std::optional<std::string_view> instance_id) const {
  if (instance_id) {
    const std::string* current = find_static(*instance_id);
    if (current == nullptr) return ErrorCode::unknown_member_id;
    if (*current != id) return ErrorCode::fenced_instance_id;
  }
  return has_member(id) ? ErrorCode::none : ErrorCode::unknown_member_id;
}

ClassicMember& ClassicGroup::add(ClassicMember member, std::string_view type) {
  if (members_.empty()) protocol_type_ = type;
  if (!leader_) leader_ = member.id;
  pending_.erase(member.id);
  if (member.instance_id) {
    const bool is_new_instance = static_members_.emplace(*member.instance_id, member.id).second;
    BARNABAS_ASSERT(is_new_instance);
  }
  count_protocols(member, 1);
  if (member.is_joining()) ++joining_;
  std::string id = member.id;
  const auto [place, is_new] = members_.emplace(std::move(id), std::move(member));
  BARNABAS_ASSERT(is_new);
  return place->second;
}

std::optional<ClassicMember> ClassicGroup::remove(std::string_view id) {
  if (const auto found = pending_.find(id); found != pending_.end()) pending_.erase(found);
  if (const auto found = unsynced_.find(id); found != unsynced_.end()) unsynced_.erase(found);
  const auto found = members_.find(id);
  if (found == members_.end()) return std::nullopt;
  ClassicMember member = std::move(found->second);
  members_.erase(found);
  count_protocols(member, -1);
  if (member.is_joining()) --joining_;
  if (member.instance_id) static_members_.erase(*member.instance_id);
  if (leader_ == member.id) {
    leader_.reset();
    if (!members_.empty()) leader_ = members_.begin()->first;
  }
  return member;
}

ClassicMember& ClassicGroup::rename(std::string_view old_id, std::string new_id) {
  const auto found = members_.find(old_id);
  BARNABAS_ASSERT(found != members_.end());
  if (leader_ == old_id) leader_ = new_id;
  if (const auto waited_for = unsynced_.find(old_id); waited_for != unsynced_.end()) {
    unsynced_.erase(waited_for);
    unsynced_.insert(new_id);
  }
  auto node = members_.extract(found);
  ClassicMember& member = node.mapped();
  if (member.instance_id) static_members_[*member.instance_id] = new_id;
  node.key() = new_id;
  member.id = std::move(new_id);
  members_.insert(std::move(node));
  return member;
}

void ClassicGroup::set_protocols(ClassicMember& member, std::vector<ClassicMemberProtocol> protocols) {
  count_protocols(member, -1);
  member.protocols = std::move(protocols);
  count_protocols(member, 1);
}

void ClassicGroup::count_protocols(const ClassicMember& member, int change) {
  for (const ClassicMemberProtocol& protocol : member.protocols) {
    const auto place = protocols_.try_emplace(protocol.name, 0).first;
    place->second += static_cast<std::size_t>(change);
    if (place->second == 0) protocols_.erase(place);
  }
}

void ClassicGroup::empty_assignments() {
  for (auto& [id, member] : members_) member.assignment = {};
}

bool ClassicGroup::elect_joined_leader() {
  if (!leader_) return false;
  if (members_.find(*leader_)->second.is_joining()) return true;
  const auto joined =
      std::ranges::find_if(members_, [](const auto& member) { return member.second.is_joining(); });
  if (joined == members_.end()) return false;
  leader_ = joined->first;
  return true;
}

std::chrono::milliseconds ClassicGroup::rebalance_timeout() const {
  std::chrono::milliseconds longest{0};
  for (const auto& [id, member] : members_) longest = std::max(longest, member.rebalance_timeout);
  return longest;
}

void ClassicGroup::wait_for_join(ClassicMember& member, Reply<protocol::JoinGroupResponse> reply) {
  BARNABAS_ASSERT(!member.is_joining() && reply);
  member.join = std::move(reply);
  ++joining_;
}

Reply<protocol::JoinGroupResponse> ClassicGroup::take_join(ClassicMember& member) {
  if (member.is_joining()) --joining_;
  return std::exchange(member.join, {});
}

void ClassicGroup::note_sync(std::string_view id) {
  if (const auto found = unsynced_.find(id); found != unsynced_.end()) unsynced_.erase(found);
}

// --- as others see it

std::string_view ClassicGroup::protocol_type() const {
  return protocol_type_ ? std::string_view(*protocol_type_) : std::string_view();
}

// Whoever commits without membership may do so while there are no members. A transaction's commit without
// membership is always welcome: old versions of it do not tell the member.
ErrorCode ClassicGroup::validate_offset_commit(std::string_view member_id,
                                               const std::optional<std::string>& instance_id,
                                               int32_t generation, bool transactional, int16_t) const {
  if (is_in(ClassicState::dead)) return ErrorCode::coordinator_not_available;
  if (generation < 0 && is_empty()) return ErrorCode::none;
  if (generation >= 0 || !member_id.empty() || instance_id) {
    if (const ErrorCode error = validate_member(member_id, instance_id); error != ErrorCode::none)
      return error;
    if (generation != generation_) return ErrorCode::illegal_generation;
  } else if (!transactional && !is_empty()) {
    return ErrorCode::unknown_member_id;
  }
  // Its generation is the right one, but it does not know yet what it owns in it.
  if (!transactional && is_in(ClassicState::completing_rebalance)) return ErrorCode::rebalance_in_progress;
  return ErrorCode::none;
}

ErrorCode ClassicGroup::validate_offset_fetch(const std::optional<std::string>&, int32_t) const {
  return is_in(ClassicState::dead) ? ErrorCode::group_id_not_found : ErrorCode::none;
}

ErrorCode ClassicGroup::validate_offset_delete() const {
  if (is_in(ClassicState::dead)) return ErrorCode::group_id_not_found;
  return is_empty() || uses_consumer_protocol() ? ErrorCode::none : ErrorCode::non_empty_group;
}

ErrorCode ClassicGroup::validate_delete() const {
  if (is_in(ClassicState::dead)) return ErrorCode::group_id_not_found;
  return is_empty() ? ErrorCode::none : ErrorCode::non_empty_group;
}

bool ClassicGroup::is_subscribed_to(std::string_view topic) const {
  return subscribed_topics_ ? subscribed_topics_->contains(topic) : uses_consumer_protocol();
}

// KIP-211: with members, only in a settled group whose subscriptions are known, and from the commit on;
// without members from the moment when the last one left; without a protocol from the commit on.
bool ClassicGroup::offset_is_expired(const OffsetAge& age, TimestampMs now,
                                     std::chrono::milliseconds retention) const {
  TimestampMs since = age.committed_at;
  if (protocol_type_) {
    if (is_empty()) {
      since = state_since_.value_or(age.committed_at);
    } else if (!is_in(ClassicState::stable) || !uses_consumer_protocol() || !subscribed_topics_) {
      return false;
    }
  }
  if (is_subscribed_to(age.topic)) return false;
  if (age.expires_at) return now >= *age.expires_at;
  return since.value() <= now.value() - retention.count();
}

void ClassicGroup::tombstones(std::vector<Record>& into) const {
  into.push_back(tombstone());
}

bool ClassicGroup::may_be_removed(TimestampMs) const {
  return is_empty() && pending_.empty();
}

void ClassicGroup::note_alive(std::string_view member_id, const Now& now) {
  if (!is_in(ClassicState::stable) && !is_in(ClassicState::preparing_rebalance)) return;
  if (ClassicMember* member = find_member(member_id))
    member->alive_until = std::max(member->alive_until, now.instant + member->session_timeout);
}

}  // namespace barnabas::coordinator
