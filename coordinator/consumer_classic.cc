#include <algorithm>

#include "coordinator/classic_answers.h"
#include "coordinator/classic_protocol.h"
#include "coordinator/consumer_embedded.h"
#include "coordinator/consumer_protocol.h"
#include "coordinator/consumer_update.h"

// Members of the classic protocol in a group that speaks the consumer protocol: JoinGroup, SyncGroup and
// Heartbeat take them from epoch to epoch as ConsumerGroupHeartbeat does others. Nobody waits for anybody.
namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using protocol::to_wire;

constexpr int16_t member_id_required_since = 4;
constexpr int16_t members_listed_since = 3;

Checked<const ConsumerMember*> classic_member_of(const ConsumerGroup& group, std::string_view member_id,
                                                 const std::optional<protocol::String>& instance_id) {
  const ConsumerMember* member = group.member(member_id);
  if (instance_id) {
    member = group.static_member(instance_id->str());
    if (member != nullptr && member->id != member_id)
      return std::unexpected(Refusal{ErrorCode::fenced_instance_id, ""});
  }
  if (member == nullptr) return std::unexpected(Refusal{ErrorCode::unknown_member_id, ""});
  return member;
}

}  // namespace

/// A JoinGroup to a group of the consumer protocol.
class ClassicJoin {
 public:
  ClassicJoin(ConsumerProtocol& protocol, ConsumerGroup& group, const RequestContext& context,
              const protocol::JoinGroupRequest& request)
      : protocol_(protocol),
        group_(group),
        context_(context),
        request_(request),
        is_new_(request.member_id.empty()),
        member_id_(is_new_ ? protocol.environment_.random_uuid().to_string() : request.member_id.str()) {
    if (request.group_instance_id) instance_id_ = request.group_instance_id->str();
    rebalance_timeout_ms_ = request.rebalance_timeout_ms;
    if (context.version == 0 || rebalance_timeout_ms_ < 0) rebalance_timeout_ms_ = request.session_timeout_ms;
  }

  Checked<Decision> run(Reply<protocol::JoinGroupResponse>& reply) {
    // The one refusal that names the member, for it comes before the group is looked for.
    if (!session_timeout_is_allowed())
      return Decision::answer(
          reply.with(join_refused(ErrorCode::invalid_session_timeout, request_.member_id)));
    if (const ErrorCode error = check(); error != ErrorCode::none) return refused(error);
    if (is_new_ && !instance_id_ && context_.version >= member_id_required_since)
      return Decision::answer(reply.with(join_refused(ErrorCode::member_id_required, member_id_)));
    if (const ErrorCode error = find_member(); error != ErrorCode::none) return refused(error);
    const auto subscription =
        request_.protocols.empty() ? std::nullopt : read_subscription(request_.protocols.front().metadata);
    if (!subscription) return refused(ErrorCode::inconsistent_group_protocol);
    const TopicPartitions owned = by_id(subscription->owned, *protocol_.environment_.image);
    // It was put out and has not noticed; what it believes to own may be others' by now. It lets go when it
    // is told.
    if (is_unknown_ && !owned.empty()) return refused(ErrorCode::unknown_member_id);

    MemberUpdate update(protocol_, group_, *old_, context_.now);
    update.show_only(context_.may_see);
    update.records() = std::move(records_);
    update.change_to(changed(*subscription));
    if (auto checked = update.subscribe(); !checked) return std::unexpected(checked.error());
    update.check_metadata(true);
    return go_on(update, owned, reply);
  }

 private:
  static std::unexpected<Refusal> refused(ErrorCode error) { return std::unexpected(Refusal{error, ""}); }

  bool session_timeout_is_allowed() const {
    const auto& settings = protocol_.environment_.settings;
    const std::chrono::milliseconds session_timeout(request_.session_timeout_ms);
    return session_timeout >= settings.session_timeout_min && session_timeout <= settings.session_timeout_max;
  }

  ErrorCode check() const {
    const auto& settings = protocol_.environment_.settings;
    if (!settings.upgrade && !settings.downgrade) return ErrorCode::inconsistent_group_protocol;
    if (group_.static_member(instance_id_) == nullptr &&
        group_.members().size() >= settings.consumer_size_max && group_.member(member_id_) == nullptr)
      return ErrorCode::group_max_size_reached;
    std::vector<std::string_view> names;
    for (const auto& protocol : request_.protocols) names.push_back(protocol.name);
    if (request_.protocol_type != consumer_protocol_type || !group_.supports_classic(names))
      return ErrorCode::inconsistent_group_protocol;
    return ErrorCode::none;
  }

  ErrorCode find_member() {
    present_ = group_.static_member(instance_id_);
    if (!instance_id_) {
      old_ = group_.member(member_id_);
    } else if (!is_new_) {
      if (present_ == nullptr) return ErrorCode::unknown_member_id;
      if (present_->id != member_id_) return ErrorCode::fenced_instance_id;
      old_ = present_;
    } else if (present_ != nullptr) {
      begun_ = protocol_.replace_member(group_, *present_, member_id_, records_);
      old_ = &*begun_;
    }
    if (old_ == nullptr) {
      is_unknown_ = !is_new_;
      begun_ = ConsumerMember{.id = member_id_};
      old_ = &*begun_;
    }
    return ErrorCode::none;
  }

  ConsumerMember changed(const EmbeddedSubscription& subscription) const {
    ConsumerMember next = *old_;
    if (instance_id_) next.instance_id = instance_id_;
    if (subscription.rack_id) next.rack_id = subscription.rack_id;
    next.rebalance_timeout_ms = rebalance_timeout_ms_;
    next.topics = subscription.topics;
    sort_unique(next.topics);
    next.regex = std::string();
    next.client_id = context_.client_id;
    next.client_host = context_.client_host;
    auto& classic = next.classic.emplace();
    classic.session_timeout_ms = request_.session_timeout_ms;
    for (const auto& protocol : request_.protocols) {
      const ByteView metadata = protocol.metadata;
      classic.protocols.push_back({protocol.name.str(), {metadata.begin(), metadata.end()}});
    }
    return next;
  }

  Checked<Decision> go_on(MemberUpdate& update, const TopicPartitions& owned,
                          Reply<protocol::JoinGroupResponse>& reply) {
    const bool downgrades = present_ != nullptr && !present_->classic &&
                            protocol_.may_downgrade(group_, {present_}, &update.member());
    // A group that changes its protocol is not assigned anew first.
    const bool rebalances = downgrades && group_.assignment_epoch() < update.group_epoch();
    if (!rebalances) {
      const auto target = downgrades ? update.last_target() : update.target();
      auto checked = update.reconcile(target, update.subscription_changed(), owned);
      if (!checked) return std::unexpected(checked.error());
    }
    const ConsumerMember& member = update.member();
    Decision decision;
    decision.records = std::move(update.records());
    if (downgrades) {
      protocol_.downgrade(group_, {present_}, &member, rebalances, context_.now, decision);
    } else {
      decision.appended = appended(update);
    }
    protocol::JoinGroupResponse response = join_refused(ErrorCode::none, member.id);
    response.generation_id = member.epoch;
    response.protocol_type = consumer_protocol_type;
    response.protocol_name = member.classic->protocols.front().name;
    decision.replies.push_back(reply.with(std::move(response)));
    return decision;
  }

  std::function<void()> appended(MemberUpdate& update) const {
    return [protocol = &protocol_, group = group_.id(), id = update.member().id, now = context_.now,
            replaced = present_ == nullptr ? std::string() : present_->id, timers = update.timers(),
            session = std::chrono::milliseconds(request_.session_timeout_ms),
            rebalance = std::chrono::milliseconds(rebalance_timeout_ms_)] {
      if (!replaced.empty() && replaced != id) protocol->cancel_timers(group, replaced);
      protocol->cancel_join_timer(group, id);
      protocol->set_session_timer(group, id, session, now);
      protocol->set_sync_timer(group, id, rebalance, now);
      timers();
    };
  }

  ConsumerProtocol& protocol_;
  ConsumerGroup& group_;
  const RequestContext& context_;
  const protocol::JoinGroupRequest& request_;
  const bool is_new_;
  const std::string member_id_;
  std::optional<std::string> instance_id_;
  int32_t rebalance_timeout_ms_ = 0;
  bool is_unknown_ = false;  ///< its id is not of this group; it may have been handed out
  std::vector<Record> records_;
  const ConsumerMember* present_ = nullptr;  ///< of this instance
  const ConsumerMember* old_ = nullptr;
  std::optional<ConsumerMember> begun_;
};

bool ConsumerProtocol::has_members(std::string_view group_id) const {
  const auto* group = groups_.find_as<ConsumerGroup>(group_id);
  return group != nullptr && !group->is_empty();
}

Decision ConsumerProtocol::join_classic(const RequestContext& context,
                                        const protocol::JoinGroupRequest& request,
                                        Reply<protocol::JoinGroupResponse> reply) {
  auto& group = *groups_.find_as<ConsumerGroup>(request.group_id);
  auto decision = ClassicJoin(*this, group, context, request).run(reply);
  if (!decision) return Decision::answer(reply.with(join_refused(decision.error().code, "")));
  return std::move(*decision);
}

Decision ConsumerProtocol::sync_classic(const RequestContext& context,
                                        const protocol::SyncGroupRequest& request,
                                        Reply<protocol::SyncGroupResponse> reply) {
  const auto refuse = [&](ErrorCode error) { return Decision::answer(reply.with(sync_refused(error))); };
  const auto& group = *groups_.find_as<ConsumerGroup>(request.group_id);
  const auto found = classic_member_of(group, request.member_id, request.group_instance_id);
  if (!found) return refuse(found.error().code);
  const ConsumerMember& member = **found;
  if (!member.classic) return refuse(ErrorCode::unknown_member_id);
  if (member.epoch != request.generation_id) return refuse(ErrorCode::illegal_generation);
  const bool has_protocol = !member.classic->protocols.empty();
  if ((request.protocol_type && *request.protocol_type != consumer_protocol_type) ||
      (request.protocol_name && has_protocol &&
       *request.protocol_name != member.classic->protocols.front().name))
    return refuse(ErrorCode::inconsistent_group_protocol);
  const std::string group_id = group.id();
  if (group.assignment_epoch() > member.epoch && member.state != ConsumerMemberState::unrevoked_partitions) {
    set_join_timer(group_id, member, context.now);
    return refuse(ErrorCode::rebalance_in_progress);
  }
  const auto subscription =
      has_protocol ? read_subscription(member.classic->protocols.front().metadata) : std::nullopt;
  protocol::SyncGroupResponse response;
  response.protocol_type.reset();
  if (request.protocol_type) response.protocol_type = request.protocol_type->owned();
  response.protocol_name.reset();
  if (request.protocol_name) response.protocol_name = request.protocol_name->owned();
  response.assignment = protocol::Bytes(write_assignment(partitions_of(member.assigned), *environment_.image,
                                                         subscription ? subscription->version : int16_t{0}));
  cancel_sync_timer(group_id, member.id);
  set_session_timer(group_id, member.id, std::chrono::milliseconds(member.classic->session_timeout_ms),
                    context.now);
  return Decision::answer(reply.with(std::move(response)));
}

Decision ConsumerProtocol::heartbeat_classic(const RequestContext& context,
                                             const protocol::HeartbeatRequest& request,
                                             Reply<protocol::HeartbeatResponse> reply) {
  const auto& group = *groups_.find_as<ConsumerGroup>(request.group_id);
  protocol::HeartbeatResponse response;
  const auto found = classic_member_of(group, request.member_id, request.group_instance_id);
  if (!found) {
    response.error_code = to_wire(found.error().code);
  } else if (!(*found)->classic) {
    response.error_code = to_wire(ErrorCode::unknown_member_id);
  } else if ((*found)->epoch != request.generation_id) {
    response.error_code = to_wire(ErrorCode::illegal_generation);
  } else {
    const ConsumerMember& member = **found;
    set_session_timer(group.id(), member.id, std::chrono::milliseconds(member.classic->session_timeout_ms),
                      context.now);
    const bool may_go_on =
        member.state == ConsumerMemberState::unreleased_partitions && !group.waits_for_others(member);
    // Topics are looked at, and assignments made, for heartbeats of the consumer protocol and for joins.
    // Without members of that protocol somebody has to join, or what one who left had stays where it is.
    const bool must_ask = group.classic_members() == group.members().size() &&
                          (group.needs_metadata_check() || target_is_due(group, group.epoch(), context.now));
    if (must_ask || member.epoch < group.assignment_epoch() ||
        member.state == ConsumerMemberState::unrevoked_partitions || may_go_on) {
      response.error_code = to_wire(ErrorCode::rebalance_in_progress);
      set_join_timer(group.id(), member, context.now);
    }
  }
  return Decision::answer(reply.with(std::move(response)));
}

Decision ConsumerProtocol::leave_classic(const RequestContext& context,
                                         const protocol::LeaveGroupRequest& request,
                                         Reply<protocol::LeaveGroupResponse> reply) {
  const auto& group = *groups_.find_as<ConsumerGroup>(request.group_id);
  auto identities = request.members;
  if (context.version < members_listed_since) {
    identities.assign(1, {});
    identities.front().member_id = request.member_id;
  }
  protocol::LeaveGroupResponse response;
  std::vector<const ConsumerMember*> leaving;
  for (const auto& identity : identities) {
    auto& outcome = response.members.emplace_back();
    outcome.member_id = identity.member_id;
    outcome.group_instance_id = identity.group_instance_id;
    const ConsumerMember* member = identity.group_instance_id
                                       ? group.static_member(identity.group_instance_id->str())
                                       : group.member(identity.member_id);
    if (member == nullptr) {
      outcome.error_code = to_wire(ErrorCode::unknown_member_id);
    } else if (identity.group_instance_id && !identity.member_id.empty() &&
               member->id != identity.member_id.view()) {
      outcome.error_code = to_wire(ErrorCode::fenced_instance_id);
    } else if (std::ranges::find(leaving, member) == leaving.end()) {
      leaving.push_back(member);
    }
  }
  Decision decision = fence(group, leaving, context.now);
  if (context.version < members_listed_since) {
    response.error_code = response.members.front().error_code;
    response.members.clear();
  }
  decision.replies.push_back(reply.with(std::move(response)));
  return decision;
}

}  // namespace barnabas::coordinator
