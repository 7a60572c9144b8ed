#include <algorithm>

#include "coordinator/classic_group.h"
#include "protocol/messages/group_metadata_key.h"

namespace barnabas::coordinator {
namespace {

/// What Kafka 4.4 writes.
constexpr int16_t group_metadata_version = 3;

// Borrows all; the record is encoded at once.
protocol::String borrowed(std::string_view text) {
  return protocol::String::view_of(text);
}

std::optional<protocol::String> borrowed(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return borrowed(std::string_view(*text));
}

protocol::GroupMetadataKey key_of(const Group& group) {
  protocol::GroupMetadataKey key;
  key.group = borrowed(std::string_view(group.id()));
  return key;
}

int32_t wire(std::chrono::milliseconds timeout) {
  return static_cast<int32_t>(timeout.count());
}

std::chrono::milliseconds timeout_of(int32_t milliseconds) {
  return std::chrono::milliseconds(std::max(milliseconds, 0));
}

}  // namespace

Record ClassicGroup::record() const {
  protocol::GroupMetadataValue value;
  value.protocol_type = borrowed(protocol_type());
  value.generation = generation_;
  value.protocol = borrowed(protocol_name_);
  value.leader = borrowed(leader_);
  value.current_state_timestamp = state_since_ ? state_since_->value() : -1;
  value.members.reserve(members_.size());
  for (const auto& [id, member] : members_) {
    protocol::GroupMetadataValue::MemberMetadata& kept = value.members.emplace_back();
    kept.member_id = borrowed(std::string_view(id));
    kept.group_instance_id = borrowed(member.instance_id);
    kept.client_id = borrowed(std::string_view(member.client_id));
    kept.client_host = borrowed(std::string_view(member.client_host));
    kept.rebalance_timeout = wire(member.rebalance_timeout);
    kept.session_timeout = wire(member.session_timeout);
    if (protocol_name_) kept.subscription = protocol::Bytes::view_of(member.metadata(*protocol_name_));
    kept.assignment = protocol::Bytes::view_of(member.assignment);
  }
  return record_of(key_of(*this), value, group_metadata_version);
}

Record ClassicGroup::tombstone() const {
  return tombstone_of(key_of(*this));
}

std::unique_ptr<ClassicGroup> ClassicGroup::from_record(std::string id,
                                                        const protocol::GroupMetadataValue& value) {
  auto group = std::make_unique<ClassicGroup>(std::move(id), TimestampMs(value.current_state_timestamp));
  if (value.current_state_timestamp == -1) group->state_since_.reset();
  if (!value.protocol_type.empty()) group->protocol_type_ = value.protocol_type.str();
  if (value.protocol) group->protocol_name_ = value.protocol->str();
  group->generation_ = value.generation;
  for (const auto& kept : value.members) {
    if (group->has_member(kept.member_id)) continue;
    if (kept.group_instance_id && group->find_static(*kept.group_instance_id) != nullptr) continue;
    ClassicMember member{.id = kept.member_id.str()};
    if (kept.group_instance_id) member.instance_id = kept.group_instance_id->str();
    member.client_id = kept.client_id.str();
    member.client_host = kept.client_host.str();
    member.session_timeout = std::max(timeout_of(kept.session_timeout), std::chrono::milliseconds(1));
    member.rebalance_timeout =
        kept.rebalance_timeout == -1 ? member.session_timeout : timeout_of(kept.rebalance_timeout);
    member.protocols.push_back({group->protocol_name_.value_or(""), kept.subscription.owned()});
    member.assignment = kept.assignment.owned();
    group->add(std::move(member), value.protocol_type);
  }
  if (!group->members_.empty()) {
    group->state_ = ClassicState::stable;
    if (!group->protocol_name_) group->protocol_name_.emplace();
  }
  if (value.leader && group->has_member(*value.leader)) group->leader_ = value.leader->str();
  group->read_subscriptions();
  return group;
}

}  // namespace barnabas::coordinator
