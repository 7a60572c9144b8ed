#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "coordinator/classic_protocol.h"
#include "coordinator/consumer_protocol.h"
#include "coordinator/decision.h"
#include "coordinator/group.h"
#include "coordinator/offset_protocol.h"
#include "coordinator/shard_environment.h"
#include "metadata/publisher.h"

namespace barnabas::coordinator {

/// The groups and offsets of one partition of __consumer_offsets: a pure state machine. Every method runs on
/// the one thread of the shard and gives a Decision, which that thread carries out before it calls the next
/// one.
class GroupShard {
 public:
  explicit GroupShard(ShardEnvironment environment);
  GroupShard(const GroupShard&) = delete;  // its parts refer to each other
  GroupShard& operator=(const GroupShard&) = delete;

  // --- for whoever runs it
  // -----------------------------------------------------------------------------------

  /// ErrorKind::corrupt: a key or value that does not decode. Records of types that this version does not
  /// know are skipped.
  Result<void> replay(const ReplayedRecord& record);
  /// A transaction of this producer ended (marker in the log).
  void end_transaction(ProducerId producer, bool committed);
  /// The log is replayed to its end; timers begin.
  Decision loaded(const Now& now);
  /// Another metadata image. `changes` says what is different from the one before.
  Decision metadata_changed(const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image,
                            const Now& now);
  /// No longer led by this broker: answers all that wait with not_coordinator.
  Decision unload();
  Timers& timers() { return environment_.timers; }
  const GroupTable& groups() const { return groups_; }

  // --- requests of the classic protocol (classic_protocol.h)
  // -----------------------------------------------------------------------------------

  Decision join_group(const RequestContext& context, const protocol::JoinGroupRequest& request,
                      Reply<protocol::JoinGroupResponse> reply) {
    if (consumer_.has_members(request.group_id))
      return consumer_.join_classic(context, request, std::move(reply));
    return classic_.join_group(context, request, std::move(reply));
  }
  Decision sync_group(const RequestContext& context, const protocol::SyncGroupRequest& request,
                      Reply<protocol::SyncGroupResponse> reply) {
    if (consumer_.has_members(request.group_id))
      return consumer_.sync_classic(context, request, std::move(reply));
    return classic_.sync_group(context, request, std::move(reply));
  }
  Decision heartbeat(const RequestContext& context, const protocol::HeartbeatRequest& request,
                     Reply<protocol::HeartbeatResponse> reply) {
    if (consumer_.has_members(request.group_id))
      return consumer_.heartbeat_classic(context, request, std::move(reply));
    return classic_.heartbeat(context, request, std::move(reply));
  }
  Decision leave_group(const RequestContext& context, const protocol::LeaveGroupRequest& request,
                       Reply<protocol::LeaveGroupResponse> reply) {
    if (consumer_.has_members(request.group_id))
      return consumer_.leave_classic(context, request, std::move(reply));
    return classic_.leave_group(context, request, std::move(reply));
  }
  Decision describe_group(const RequestContext& context, std::string_view id,
                          Reply<ClassicProtocol::DescribedGroup> reply) {
    return classic_.describe_group(context, id, std::move(reply));
  }

  // --- requests about offsets (offset_protocol.h)
  // -----------------------------------------------------------------------------------

  Decision commit_offsets(const RequestContext& context, const protocol::OffsetCommitRequest& request,
                          Reply<protocol::OffsetCommitResponse> reply) {
    return offsets_.commit(context, request, std::move(reply));
  }
  Decision commit_offsets_in_transaction(const RequestContext& context,
                                         const protocol::TxnOffsetCommitRequest& request,
                                         Reply<protocol::TxnOffsetCommitResponse> reply) {
    return offsets_.commit_in_transaction(context, request, std::move(reply));
  }
  Decision fetch_offsets(const RequestContext& context, const OffsetProtocol::GroupToFetch& group,
                         bool require_stable, Reply<OffsetProtocol::FetchedGroup> reply) {
    return offsets_.fetch(context, group, require_stable, std::move(reply));
  }
  Decision delete_offsets(const RequestContext& context, const protocol::OffsetDeleteRequest& request,
                          Reply<protocol::OffsetDeleteResponse> reply) {
    return offsets_.delete_offsets(context, request, std::move(reply));
  }
  Decision delete_group(const protocol::String& id, Reply<OffsetProtocol::DeletedGroup> reply) {
    return offsets_.delete_group(id, std::move(reply));
  }
  const OffsetProtocol& offsets() const { return offsets_; }

  // --- requests of and about groups of the consumer protocol (consumer_protocol.h)
  // -----------------------------------------------------------------------------------

  Decision consumer_heartbeat(const RequestContext& context,
                              const protocol::ConsumerGroupHeartbeatRequest& request,
                              Reply<protocol::ConsumerGroupHeartbeatResponse> reply) {
    return consumer_.heartbeat(context, request, std::move(reply));
  }
  Decision describe_consumer_group(std::string_view id, Reply<ConsumerProtocol::DescribedGroup> reply) const {
    return consumer_.describe(id, std::move(reply));
  }

 private:
  Result<void> replay_classic(const ReplayedRecord& record);

  ShardEnvironment environment_;
  GroupTable groups_;
  ClassicProtocol classic_{environment_, groups_};
  OffsetProtocol offsets_{environment_, groups_};
  ConsumerProtocol consumer_{environment_, groups_, classic_};
};

}  // namespace barnabas::coordinator
