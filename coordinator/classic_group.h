#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/group.h"
#include "protocol/messages/group_metadata_value.h"
#include "protocol/messages/join_group_response.h"
#include "protocol/messages/sync_group_response.h"

namespace barnabas::coordinator {

/// The type of groups whose members speak Kafka's embedded consumer protocol: their subscriptions can be
/// read.
inline constexpr std::string_view consumer_protocol_type = "consumer";

enum class ClassicState {
  empty,                 ///< no members
  preparing_rebalance,   ///< members are joining; those there before are told to join again
  completing_rebalance,  ///< a generation has begun; the leader's assignment is awaited
  stable,                ///< everybody has, or may fetch, their assignment
  dead,                  ///< the shard was unloaded
};

/// As Kafka spells it in answers.
std::string_view name_of(ClassicState state);

/// A way to share out partitions that a member understands, and what it says about itself for it.
struct ClassicMemberProtocol {
  std::string name;
  protocol::Bytes metadata;  ///< owns
  bool operator==(const ClassicMemberProtocol&) const = default;
};

struct ClassicMember {
  std::string id;
  std::optional<std::string> instance_id = {};  ///< of a static member (KIP-345)
  std::string client_id = {};
  std::string client_host = {};
  std::chrono::milliseconds rebalance_timeout{0};
  std::chrono::milliseconds session_timeout{0};
  std::vector<ClassicMemberProtocol> protocols = {};  ///< by preference, each name once
  protocol::Bytes assignment = {};                    ///< owns; empty: none

  /// Not in a completed generation yet: it cannot know its id, so it waits without heartbeats.
  bool is_new = false;
  /// Its JoinGroup and SyncGroup that wait. Changed through the group, which counts them.
  Reply<protocol::JoinGroupResponse> join = {};
  Reply<protocol::SyncGroupResponse> sync = {};
  /// When it is given up without a sign of life. Its timer may be set to an earlier time, and looks here.
  Instant alive_until = {};
  std::optional<Instant> timer_at = {};

  bool is_static() const { return instance_id.has_value(); }
  bool is_joining() const { return static_cast<bool>(join); }
  bool is_syncing() const { return static_cast<bool>(sync); }
  /// Empty for a protocol that it does not speak.
  const protocol::Bytes& metadata(std::string_view protocol) const;
};

/// A group of the classic protocol: its members and the rules about them. ClassicProtocol decides what
/// happens when. Also the group that comes to be by commits alone: empty and without a protocol type.
class ClassicGroup final : public Group {
 public:
  using Members = std::map<std::string, ClassicMember, std::less<>>;

  /// Empty, generation 0.
  ClassicGroup(std::string id, TimestampMs now);

  // --- as others see it (group.h)

  GroupType type() const override { return GroupType::classic; }
  std::string_view state_name() const override { return name_of(state_); }
  std::string_view protocol_type() const override;
  bool is_empty() const override { return state_ == ClassicState::empty; }
  protocol::ErrorCode validate_offset_commit(std::string_view member_id,
                                             const std::optional<std::string>& instance_id,
                                             int32_t generation, bool transactional,
                                             int16_t version) const override;
  protocol::ErrorCode validate_offset_fetch(const std::optional<std::string>& member_id,
                                            int32_t member_epoch) const override;
  protocol::ErrorCode validate_offset_delete() const override;
  protocol::ErrorCode validate_delete() const override;
  bool is_subscribed_to(std::string_view topic) const override;
  bool offset_is_expired(const OffsetAge& age, TimestampMs now,
                         std::chrono::milliseconds retention) const override;
  void tombstones(std::vector<Record>& into) const override;
  bool may_be_removed(TimestampMs now) const override;
  void note_alive(std::string_view member_id, const Now& now) override;

  // --- state

  ClassicState state() const { return state_; }
  ClassicState previous_state() const { return previous_state_; }
  bool is_in(ClassicState state) const { return state_ == state; }
  int32_t generation() const { return generation_; }
  /// What the generation shares out by; none while no generation had members.
  const std::optional<std::string>& protocol_name() const { return protocol_name_; }
  const std::optional<std::string>& leader() const { return leader_; }
  bool is_leader(std::string_view member_id) const { return leader_ == member_id; }
  /// None: an old record did not say.
  std::optional<TimestampMs> state_since() const { return state_since_; }
  bool uses_consumer_protocol() const { return protocol_type_ == consumer_protocol_type; }
  /// It came to be by commits alone: no record of its own is in the log.
  bool is_simple() const { return !protocol_type_ && is_empty() && pending_.empty(); }
  void enter(ClassicState state, TimestampMs now);

  /// Bumps the generation: completing_rebalance under the protocol that most members prefer among those that
  /// all of them speak, or empty.
  void begin_generation(TimestampMs now);
  /// The protocol with the most votes; of several, the first by name. There must be members.
  std::string select_protocol() const;
  /// A joiner of this type, with these protocols, fits in.
  bool supports(std::string_view type, const std::vector<ClassicMemberProtocol>& protocols) const;

  // --- members

  const Members& members() const { return members_; }
  ClassicMember* find_member(std::string_view id);
  const ClassicMember* find_member(std::string_view id) const;
  bool has_member(std::string_view id) const { return members_.contains(id); }
  /// The member id behind an instance id, or null.
  const std::string* find_static(std::string_view instance_id) const;
  /// none, unknown_member_id or fenced_instance_id.
  protocol::ErrorCode validate_member(std::string_view id, std::optional<std::string_view> instance_id) const;

  /// It must fit in (supports()) and neither its id nor its instance id be there. The first one leads and
  /// gives the group its type.
  ClassicMember& add(ClassicMember member, std::string_view type);
  /// Another one leads if it did. None: there is no such member. Also ends a handed-out id.
  std::optional<ClassicMember> remove(std::string_view id);
  /// The member of this id goes on under another; a waiting JoinGroup or SyncGroup goes with it.
  ClassicMember& rename(std::string_view old_id, std::string new_id);
  void set_protocols(ClassicMember& member, std::vector<ClassicMemberProtocol> protocols);
  void empty_assignments();
  /// Whoever joined this generation leads if the leader did not. False: nobody joined.
  bool elect_joined_leader();
  std::chrono::milliseconds rebalance_timeout() const;  ///< the longest of its members'

  // --- who is waited for

  void wait_for_join(ClassicMember& member, Reply<protocol::JoinGroupResponse> reply);
  Reply<protocol::JoinGroupResponse> take_join(ClassicMember& member);
  std::size_t joining() const { return joining_; }
  /// All members wait for the rebalance, and no handed-out id may still come.
  bool all_joined() const { return joining_ == members_.size() && pending_.empty(); }

  /// Ids that were handed out and have not joined yet (KIP-394).
  const std::set<std::string, std::less<>>& pending() const { return pending_; }
  void add_pending(std::string id) { pending_.insert(std::move(id)); }
  bool is_pending(std::string_view id) const { return pending_.contains(id); }

  /// Members of this generation whose SyncGroup has not come.
  const std::set<std::string, std::less<>>& unsynced() const { return unsynced_; }
  void expect_sync(const std::string& id) { unsynced_.insert(id); }
  void note_sync(std::string_view id);
  void expect_no_sync() { unsynced_.clear(); }

  /// When somebody last came before the first rebalance.
  Instant last_newcomer_at{};

  // --- its record

  /// GroupMetadata as Kafka 4.4 writes it, with the assignments that the members have.
  Record record() const;
  /// As the log says. Lenient: members that are there twice and a leader who is no member are overlooked.
  static std::unique_ptr<ClassicGroup> from_record(std::string id, const protocol::GroupMetadataValue& value);

 private:
  /// Takes the topics from what the members say. They are those of the generation: a static member that comes
  /// back with another subscription, and goes on with the share that it had, changes nothing.
  void read_subscriptions();
  Record tombstone() const;
  void count_protocols(const ClassicMember& member, int change);

  ClassicState state_ = ClassicState::empty;
  ClassicState previous_state_ = ClassicState::dead;
  std::optional<TimestampMs> state_since_;
  std::optional<std::string> protocol_type_;
  std::optional<std::string> protocol_name_;
  std::optional<std::string> leader_;
  int32_t generation_ = 0;

  Members members_;
  std::map<std::string, std::string, std::less<>> static_members_;  ///< instance id to member id
  std::map<std::string, std::size_t, std::less<>> protocols_;       ///< how many members speak each
  std::set<std::string, std::less<>> pending_;
  std::set<std::string, std::less<>> unsynced_;
  std::size_t joining_ = 0;
  /// None: unknown, since the members speak another protocol or their subscriptions do not decode.
  std::optional<std::set<std::string, std::less<>>> subscribed_topics_;
};

}  // namespace barnabas::coordinator
