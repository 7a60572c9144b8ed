#pragma once

#include <expected>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "coordinator/classic_protocol.h"
#include "coordinator/consumer_group.h"
#include "coordinator/consumer_metadata_hash.h"
#include "coordinator/consumer_settings.h"
#include "coordinator/decision.h"
#include "coordinator/shard_environment.h"
#include "metadata/publisher.h"
#include "protocol/messages/consumer_group_describe_response.h"
#include "protocol/messages/consumer_group_heartbeat_request.h"
#include "protocol/messages/consumer_group_heartbeat_response.h"

namespace barnabas::coordinator {

/// Why a request is refused: the code and the words of the answer, which are Kafka's.
struct Refusal {
  protocol::ErrorCode code;
  std::string message;
};
template <class Value>
using Checked = std::expected<Value, Refusal>;

/// Groups of the consumer protocol (KIP-848): the broker assigns partitions, and members come to have theirs
/// heartbeat by heartbeat. Part of a GroupShard.
class ConsumerProtocol {
 public:
  /// All outlive this.
  ConsumerProtocol(ShardEnvironment& environment, GroupTable& groups, ClassicProtocol& classic);

  // --- records of types 3 to 8 and 16
  static bool replays(int16_t record_type);
  Result<void> replay(int16_t record_type, ByteView key, const std::optional<ByteView>& value);
  /// Timers begin.
  void loaded(const Now& now);
  /// environment.image is the new one already; `before` is the one that it came after.
  void metadata_changed(const metadata::MetadataChanges& changes, const metadata::MetadataImage& before);

  // --- requests
  using HeartbeatRequest = protocol::ConsumerGroupHeartbeatRequest;
  using HeartbeatResponse = protocol::ConsumerGroupHeartbeatResponse;
  Decision heartbeat(const RequestContext& context, const HeartbeatRequest& request,
                     Reply<HeartbeatResponse> reply);
  using DescribedGroup = protocol::ConsumerGroupDescribeResponse::DescribedGroup;
  /// With error code and message where there is no such group of this protocol. Authorized operations are
  /// left to the caller.
  Decision describe(std::string_view group_id, Reply<DescribedGroup> reply) const;

  // --- requests of members of the classic protocol: for groups of this protocol that have members
  bool has_members(std::string_view group_id) const;
  Decision join_classic(const RequestContext& context, const protocol::JoinGroupRequest& request,
                        Reply<protocol::JoinGroupResponse> reply);
  Decision sync_classic(const RequestContext& context, const protocol::SyncGroupRequest& request,
                        Reply<protocol::SyncGroupResponse> reply);
  Decision heartbeat_classic(const RequestContext& context, const protocol::HeartbeatRequest& request,
                             Reply<protocol::HeartbeatResponse> reply);
  Decision leave_classic(const RequestContext& context, const protocol::LeaveGroupRequest& request,
                         Reply<protocol::LeaveGroupResponse> reply);

 private:
  friend class ClassicJoin;
  friend class ConsumerHeartbeat;
  friend class MemberUpdate;

  Checked<Decision> leave(const HeartbeatRequest& request, const Now& now, Reply<HeartbeatResponse>& reply);
  /// Takes members out, and what belongs to them: records, and timers once those are appended. If only
  /// members of the classic protocol are left, the group becomes one of that.
  Decision fence(const ConsumerGroup& group, const std::vector<const ConsumerMember*>& members,
                 const Now& now);
  Decision fence_if_there(const std::string& group_id, const std::string& member_id, const Now& now);
  /// The member of an instance that comes back under another id, with all that the instance had.
  ConsumerMember replace_member(const ConsumerGroup& group, const ConsumerMember& present,
                                const std::string& id, std::vector<Record>& records) const;

  /// A group of this protocol as a classic one is to become, not in the table yet, and the records of it.
  Checked<std::unique_ptr<ConsumerGroup>> converted(const ClassicGroup& classic,
                                                    std::vector<Record>& records);
  /// Whether the group can become a classic one when `leaving` are gone and `joining` (or null) has come.
  bool may_downgrade(const ConsumerGroup& group, const std::vector<const ConsumerMember*>& leaving,
                     const ConsumerMember* joining) const;
  /// `joining` takes the place of the one that leaves. `rebalance`: all are to join again.
  void downgrade(const ConsumerGroup& group, const std::vector<const ConsumerMember*>& leaving,
                 const ConsumerMember* joining, bool rebalance, const Now& now, Decision& decision);
  Decision resolve_regexes(const std::string& group_id, const TopicFilter& may_see, const Now& now);

  /// The target assignment is older than `epoch` of the group, and so old that a new one may be made.
  bool target_is_due(const ConsumerGroup& group, int32_t epoch, const Now& now);
  /// What is assigned with, when one member is taken for another: what most ask for, if it is among those
  /// that the broker has. (A log may name others: the setting was different, or it comes from a broker with
  /// more.)
  std::string assignor_of(const ConsumerGroup& group, const ConsumerMember* old = nullptr,
                          const ConsumerMember* next = nullptr) const;

  void set_session_timer(const std::string& group_id, const std::string& member_id,
                         std::chrono::milliseconds timeout, const Now& now);
  void expect_heartbeat(const std::string& group_id, const std::string& member_id, Instant at);
  void set_rebalance_timer(const std::string& group_id, const ConsumerMember& member, const Now& now);
  /// A classic member has to join again by then; not set anew while it is set.
  void set_join_timer(const std::string& group_id, const ConsumerMember& member, const Now& now);
  void cancel_join_timer(std::string_view group_id, std::string_view member_id);
  /// A classic member has to fetch its assignment by then.
  void set_sync_timer(const std::string& group_id, const std::string& member_id,
                      std::chrono::milliseconds timeout, const Now& now);
  void cancel_sync_timer(std::string_view group_id, std::string_view member_id);
  void cancel_rebalance_timer(std::string_view group_id, std::string_view member_id);
  void cancel_timers(std::string_view group_id, std::string_view member_id);
  /// For all expressions of the group, by what the member may see that asked for it, as in Kafka.
  void set_regex_timer(const std::string& group_id, const TopicFilter& may_see, const Now& now);
  bool is_resolving(std::string_view group_id) const;

  DescribedGroup described(std::string_view group_id) const;

  template <class Key, class Value>
  Result<void> replay_as(ByteView key, const std::optional<ByteView>& value);
  ConsumerGroup& group_to_fill(std::string_view id);

  ShardEnvironment& environment_;
  GroupTable& groups_;
  ClassicProtocol& classic_;
  ConsumerSettings settings_;
  MetadataHashes hashes_;
  /// Of the image since which there has been no new topic.
  int64_t newest_topics_version_ = -1;
};

}  // namespace barnabas::coordinator
