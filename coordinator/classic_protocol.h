#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/classic_group.h"
#include "coordinator/decision.h"
#include "coordinator/shard_environment.h"
#include "protocol/messages/describe_groups_response.h"
#include "protocol/messages/group_metadata_key.h"
#include "protocol/messages/group_metadata_value.h"
#include "protocol/messages/heartbeat_request.h"
#include "protocol/messages/heartbeat_response.h"
#include "protocol/messages/join_group_request.h"
#include "protocol/messages/join_group_response.h"
#include "protocol/messages/leave_group_request.h"
#include "protocol/messages/leave_group_response.h"
#include "protocol/messages/sync_group_request.h"
#include "protocol/messages/sync_group_response.h"

namespace barnabas::coordinator {

/// The classic group protocol: members join until all are there, one of them shares out the partitions, all
/// fetch their share, and any change begins it again.
///
/// Only a generation whose assignment has come is in the log (and one without members), as with Kafka. All
/// else is in memory and changes at once; where a record is refused, its decision takes back what must not
/// be.
class ClassicProtocol {
 public:
  /// Both outlive this.
  ClassicProtocol(ShardEnvironment& environment, GroupTable& groups);
  ClassicProtocol(const ClassicProtocol&) = delete;
  ClassicProtocol& operator=(const ClassicProtocol&) = delete;

  /// GroupMetadata, while loading and for what others append; none: a tombstone, which removes a classic
  /// group and no other.
  void replay(const protocol::GroupMetadataKey& key,
              const std::optional<protocol::GroupMetadataValue>& value);
  void loaded(const Now& now);
  /// Answers everybody who waits with not_coordinator. The groups are dead then.
  Decision unload();

  // Group ids are not empty, and what a version demands is there: handlers see to it. Groups with members
  // that speak another protocol do not belong here: the shard asks that one first.

  Decision join_group(const RequestContext& context, const protocol::JoinGroupRequest& request,
                      Reply<protocol::JoinGroupResponse> reply);
  Decision sync_group(const RequestContext& context, const protocol::SyncGroupRequest& request,
                      Reply<protocol::SyncGroupResponse> reply);
  Decision heartbeat(const RequestContext& context, const protocol::HeartbeatRequest& request,
                     Reply<protocol::HeartbeatResponse> reply);
  Decision leave_group(const RequestContext& context, const protocol::LeaveGroupRequest& request,
                       Reply<protocol::LeaveGroupResponse> reply);
  using DescribedGroup = protocol::DescribeGroupsResponse::DescribedGroup;
  /// One group of a DescribeGroups. Authorized operations are for others to fill in.
  Decision describe_group(const RequestContext& context, std::string_view id,
                          Reply<DescribedGroup> reply) const;

  // For groups that change to another protocol while they are used (KIP-848).

  /// The group is about to be replaced by one of another protocol: its timers end, and whoever waits is told
  /// to join again.
  void give_up(ClassicGroup& group, Decision& decision);
  /// The group, already in the table, has been made of one of another protocol: its members' sessions begin.
  void take_over(ClassicGroup& group, const Now& now);
  /// All members are to join again. Not while it is empty.
  void begin_rebalance(ClassicGroup& group, const Now& now, Decision& decision);

 private:
  /// One request or timer at work upon a group.
  struct Turn {
    ClassicGroup& group;
    const Now& now;
    Decision& decision;
  };
  using JoinReply = Reply<protocol::JoinGroupResponse>;
  using SyncReply = Reply<protocol::SyncGroupResponse>;
  struct Joiner;

  // classic_join.cc
  ClassicGroup& create_group(std::string_view id, const Now& now, Decision& decision);
  bool accepts(const ClassicGroup& group, std::string_view member_id) const;
  std::string new_member_id(const Joiner& joiner) const;
  void join(const Turn& turn, Joiner joiner);
  void join_new(const Turn& turn, Joiner joiner);
  void join_existing(const Turn& turn, Joiner joiner);
  void join_static_again(const Turn& turn, Joiner joiner, const std::string& old_id, std::string new_id);
  void keep_static_member(const Turn& turn, ClassicMember& member, ClassicMember before,
                          const std::string& former_leader, int16_t version);
  void add_member(const Turn& turn, Joiner joiner, std::string id);
  void update_member(const Turn& turn, Joiner joiner, ClassicMember& member);

  // classic_sync.cc, classic_leave.cc
  void sync(const Turn& turn, const protocol::SyncGroupRequest& request, SyncReply reply);
  void settle(const Turn& turn, const protocol::SyncGroupRequest& request);
  protocol::ErrorCode leave(const Turn& turn, const protocol::LeaveGroupRequest::MemberIdentity& member);

  // classic_rebalance.cc
  void rebalance_or_complete(const Turn& turn);
  void prepare_rebalance(const Turn& turn);
  void delay_first_rebalance(const Turn& turn, Instant latest);
  void await_joins(const Turn& turn);
  void complete_join_if_all_there(const Turn& turn);
  void complete_join(const Turn& turn);
  void answer_joins(const Turn& turn);
  void sync_due(const Turn& turn);
  void refuse_syncs(const Turn& turn, protocol::ErrorCode error);
  void answer_sync(const Turn& turn, ClassicMember& member, protocol::SyncGroupResponse response);
  /// Takes a member, or an id that was handed out, out of the group.
  void drop_member(const Turn& turn, std::string_view id);

  // classic_protocol.cc
  DescribedGroup describe(const RequestContext& context, std::string_view id) const;
  /// Answers all that wait, and ends the timers.
  void end(ClassicGroup& group, protocol::ErrorCode error, Decision& decision);
  void expect_heartbeat(const Turn& turn, ClassicMember& member, std::chrono::milliseconds timeout);
  void member_due(const Turn& turn, const std::string& member_id);
  void set_member_timer(const ClassicGroup& group, const std::string& member_id, Instant at);
  void cancel_member_timer(const ClassicGroup& group, std::string_view member_id);
  /// Upon a group that may be gone by then.
  void set_timer(std::string name, Instant at, const std::string& group_id,
                 std::function<void(const Turn&)> due);
  static std::string join_timer(const ClassicGroup& group);
  static std::string sync_timer(const ClassicGroup& group);
  static std::string member_timer(const std::string& group_id, std::string_view member_id);

  ShardEnvironment& environment_;
  GroupTable& groups_;
};

}  // namespace barnabas::coordinator
