#include <algorithm>

#include "coordinator/consumer_protocol.h"
#include "coordinator/consumer_update.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using protocol::String;
using Request = ConsumerProtocol::HeartbeatRequest;
using Response = ConsumerProtocol::HeartbeatResponse;

// Kafka trims as Java does: whatever is not above a space.
bool is_blank(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' '; });
}
bool is_blank(const std::optional<String>& text) {
  return text && is_blank(text->view());
}

Checked<void> invalid(std::string message) {
  return std::unexpected(Refusal{ErrorCode::invalid_request, std::move(message)});
}

Checked<void> check(const Request& request, int16_t version, const std::vector<std::string>& assignors) {
  const int32_t epoch = request.member_epoch;
  if ((version >= 1 || epoch > 0 || epoch == leave_epoch) && is_blank(request.member_id.view()))
    return invalid("MemberId can't be empty.");
  if (is_blank(request.group_id.view())) return invalid("GroupId can't be empty.");
  if (is_blank(request.instance_id)) return invalid("InstanceId can't be empty.");
  if (is_blank(request.rack_id)) return invalid("RackId can't be empty.");
  if (epoch == 0) {
    if (request.rebalance_timeout_ms == -1)
      return invalid("RebalanceTimeoutMs must be provided in first request.");
    if (!request.topic_partitions || !request.topic_partitions->empty())
      return invalid("TopicPartitions must be empty when (re-)joining.");
    if (!request.subscribed_topic_names && !request.subscribed_topic_regex)
      return invalid(
          "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.");
  } else if (epoch == leave_static_epoch) {
    if (!request.instance_id) return invalid("InstanceId can't be null.");
  } else if (epoch < leave_static_epoch) {
    return invalid("MemberEpoch is invalid.");
  }
  if (request.server_assignor &&
      std::ranges::find(assignors, request.server_assignor->view()) == assignors.end()) {
    std::string supported;
    for (const auto& name : assignors) supported += (supported.empty() ? "" : ", ") + name;
    return std::unexpected(Refusal{ErrorCode::unsupported_assignor,
                                   "ServerAssignor " + request.server_assignor->str() +
                                       " is not supported. Supported assignors: " + supported + "."});
  }
  return {};
}

std::optional<TopicPartitions> reported_by(const Request& request) {
  if (!request.topic_partitions) return std::nullopt;
  TopicPartitions reported;
  for (const auto& topic : *request.topic_partitions) {
    auto& list = reported[topic.topic_id];
    list.insert(list.end(), topic.partitions.begin(), topic.partitions.end());
  }
  return reported;
}

bool is_subset(const std::optional<TopicPartitions>& reported, const OwnedPartitions& owned) {
  if (!reported) return false;
  for (const auto& [topic, partitions] : *reported) {
    const auto found = owned.find(topic);
    if (found == owned.end()) return false;
    for (const int32_t partition : partitions)
      if (!found->second.contains(partition)) return false;
  }
  return true;
}

Refusal fenced(std::string_view how, int32_t received, int32_t known) {
  return {ErrorCode::fenced_member_epoch,
          "The consumer group member has a " + std::string(how) + " member epoch (" +
              std::to_string(received) + ") than the one known by the group coordinator (" +
              std::to_string(known) + "). The member must abandon all its partitions and rejoin."};
}

/// A member whose last answer was lost is an epoch behind; it may go on if it holds nothing that it should
/// not.
Checked<void> check_epoch(const ConsumerMember& member, int32_t received,
                          const std::optional<TopicPartitions>& reported) {
  if (received == 0 || received == member.epoch) return {};
  if (received > member.epoch) return std::unexpected(fenced("greater", received, member.epoch));
  if (received != member.previous_epoch || !is_subset(reported, member.assigned))
    return std::unexpected(fenced("smaller", received, member.epoch));
  return {};
}

// What the request said may be in the message, and be as long as a string can be.
Response refused(const Refusal& refusal) {
  Response response;
  response.error_code = static_cast<int16_t>(refusal.code);
  response.error_message = refusal.message.substr(0, protocol::string_bytes_max);
  return response;
}

}  // namespace

/// One heartbeat of a member that joins or is there.
class ConsumerHeartbeat {
 public:
  ConsumerHeartbeat(ConsumerProtocol& protocol, const RequestContext& context, const Request& request)
      : protocol_(protocol),
        context_(context),
        request_(request),
        joins_(request.member_epoch == 0),
        group_id_(request.group_id.str()),
        member_id_(request.member_id.str()),
        reported_(reported_by(request)) {
    if (request.instance_id) instance_id_ = request.instance_id->str();
  }

  Checked<Decision> run(Reply<Response>& reply) {
    if (auto checked = find_group(); !checked) return std::unexpected(checked.error());
    if (auto checked = find_member(); !checked) return std::unexpected(checked.error());
    MemberUpdate update(protocol_, *group_, *old_, context_.now);
    update.show_only(context_.may_see);
    update.records() = std::move(records_);
    if (changes_something()) update.change_to(changed());
    if (auto checked = update.subscribe(); !checked) return std::unexpected(checked.error());
    update.check_metadata(false);
    const auto target = update.target();
    if (auto checked = update.reconcile(target, update.subscription_changed(), reported_); !checked)
      return std::unexpected(checked.error());
    return decision(update, reply);
  }

 private:
  Checked<void> find_group() {
    Group* any = protocol_.groups_.find(group_id_);
    group_ = dynamic_cast<ConsumerGroup*>(any);
    if (group_ == nullptr) {
      if (any == nullptr && !joins_)
        return std::unexpected(
            Refusal{ErrorCode::group_id_not_found, "Consumer group " + group_id_ + " not found."});
      if (any != nullptr && !joins_)
        return std::unexpected(
            Refusal{ErrorCode::group_id_not_found, "Group " + group_id_ + " is not a consumer group."});
      if (auto checked = begin_group(dynamic_cast<ClassicGroup*>(any)); !checked)
        return std::unexpected(checked.error());
    }
    const auto& settings = protocol_.environment_.settings;
    if (group_->static_member(instance_id_) == nullptr &&
        group_->members().size() >= settings.consumer_size_max && group_->member(member_id_) == nullptr)
      return std::unexpected(Refusal{ErrorCode::group_max_size_reached,
                                     "The consumer group has reached its maximum capacity of " +
                                         std::to_string(settings.consumer_size_max) + " members."});
    if (member_id_.empty()) member_id_ = protocol_.environment_.random_uuid().to_string();
    return {};
  }

  /// One that is not there yet, or takes the place of a classic one.
  Checked<void> begin_group(ClassicGroup* classic) {
    classic_ = classic;
    if (classic == nullptr || classic->is_empty()) {
      if (classic != nullptr) classic->tombstones(records_);
      begun_ = std::make_unique<ConsumerGroup>(group_id_);
    } else {
      auto converted = protocol_.converted(*classic, records_);
      if (!converted) return std::unexpected(converted.error());
      begun_ = std::move(*converted);
    }
    group_ = begun_.get();
    return {};
  }

  Checked<void> find_member() {
    if (instance_id_) return find_static_member();
    old_ = group_->member(member_id_);
    if (old_ != nullptr) return check_epoch(*old_, request_.member_epoch, reported_);
    if (!joins_)
      return std::unexpected(
          Refusal{ErrorCode::unknown_member_id,
                  "Member " + member_id_ + " is not a member of group " + group_id_ + "."});
    begin_member(ConsumerMember{.id = member_id_});
    return {};
  }

  Checked<void> find_static_member() {
    const ConsumerMember* present = group_->static_member(instance_id_);
    if (!joins_) {
      if (present == nullptr)
        return std::unexpected(
            Refusal{ErrorCode::unknown_member_id, "Instance id " + *instance_id_ + " is unknown."});
      if (present->id != member_id_)
        return std::unexpected(Refusal{ErrorCode::fenced_instance_id,
                                       "Static member " + member_id_ + " with instance id " + *instance_id_ +
                                           " was fenced by member " + present->id + "."});
      old_ = present;
      return check_epoch(*old_, request_.member_epoch, reported_);
    }
    if (present == nullptr) {
      old_ = group_->member(member_id_);
      if (old_ == nullptr) begin_member(ConsumerMember{.id = member_id_});
      return {};
    }
    const bool is_away = present->classic || present->epoch == leave_static_epoch;
    if (!is_away && present->id == member_id_) {  // the answer to its first join was lost
      old_ = present;
      return {};
    }
    if (!is_away)
      return std::unexpected(Refusal{ErrorCode::unreleased_instance_id,
                                     "Static member " + member_id_ + " with instance id " + *instance_id_ +
                                         " cannot join the group because the instance id is owned by " +
                                         present->id + " member."});
    replaced_id_ = present->id;
    begin_member(protocol_.replace_member(*group_, *present, member_id_, records_));
    return {};
  }

  void begin_member(ConsumerMember member) {
    begun_member_ = std::move(member);
    old_ = &*begun_member_;
  }

  /// Nearly all heartbeats change nothing: then the member is not even copied.
  bool changes_something() const {
    return instance_id_ || request_.rack_id || request_.rebalance_timeout_ms != -1 ||
           request_.subscribed_topic_names || request_.subscribed_topic_regex || request_.server_assignor ||
           old_->client_id != context_.client_id || old_->client_host != context_.client_host ||
           old_->classic;
  }

  ConsumerMember changed() const {
    ConsumerMember next = *old_;
    if (instance_id_) next.instance_id = instance_id_;
    if (request_.rack_id) next.rack_id = request_.rack_id->str();
    if (request_.rebalance_timeout_ms != -1) next.rebalance_timeout_ms = request_.rebalance_timeout_ms;
    if (request_.server_assignor) next.assignor = request_.server_assignor->str();
    if (request_.subscribed_topic_names) {
      next.topics.clear();
      for (const auto& name : *request_.subscribed_topic_names) next.topics.push_back(name.str());
      sort_unique(next.topics);
    }
    if (request_.subscribed_topic_regex) next.regex = request_.subscribed_topic_regex->str();
    next.client_id = context_.client_id;
    next.client_host = context_.client_host;
    next.classic.reset();
    return next;
  }

  Decision decision(MemberUpdate& update, Reply<Response>& reply) {
    const ConsumerMember& member = update.member();
    Response response;
    response.member_id = member.id;
    response.member_epoch = member.epoch;
    const auto interval = update.next_heartbeat_in();
    response.heartbeat_interval_ms = static_cast<int32_t>(interval.count());
    const bool is_full = request_.rebalance_timeout_ms != -1 && request_.topic_partitions &&
                         (request_.subscribed_topic_names || request_.subscribed_topic_regex);
    if (joins_ || is_full || member.assigned != old_->assigned) {
      auto& assignment = response.assignment.emplace();
      for (auto& [topic, partitions] : partitions_of(member.assigned)) {
        auto& one = assignment.topic_partitions.emplace_back();
        one.topic_id = topic;
        one.partitions = std::move(partitions);
      }
    }
    Decision decision;
    decision.appended = [protocol = &protocol_, group = group_id_, id = member.id, replaced = replaced_id_,
                         timeout = update.settings().session_timeout, interval, now = context_.now,
                         timers = update.timers()] {
      if (!replaced.empty() && replaced != id) protocol->cancel_timers(group, replaced);
      protocol->set_session_timer(group, id, timeout, now);
      protocol->expect_heartbeat(group, id, now.instant + interval);
      timers();
    };
    decision.records = std::move(update.records());
    if (classic_ != nullptr) leave_classic_protocol(decision);
    decision.replies.push_back(reply.with(std::move(response)));
    return decision;
  }

  void leave_classic_protocol(Decision& decision) {
    protocol_.classic_.give_up(*classic_, decision);
    decision.refused = [protocol = &protocol_, id = group_id_, now = context_.now](ErrorCode) {
      if (auto* classic = protocol->groups_.find_as<ClassicGroup>(id))
        protocol->classic_.take_over(*classic, now);
    };
    std::vector<std::pair<std::string, std::chrono::milliseconds>> sessions;
    for (const auto& [id, member] : group_->members())
      if (member.classic && id != replaced_id_)
        sessions.emplace_back(id, std::chrono::milliseconds(member.classic->session_timeout_ms));
    decision.appended = [before = std::move(decision.appended), protocol = &protocol_, group = group_id_,
                         sessions = std::move(sessions), now = context_.now]() mutable {
      for (const auto& [id, timeout] : sessions) protocol->set_session_timer(group, id, timeout, now);
      before();
    };
  }

  ConsumerProtocol& protocol_;
  const RequestContext& context_;
  const Request& request_;
  const bool joins_;
  const std::string group_id_;
  std::string member_id_;
  std::optional<std::string> instance_id_;
  std::optional<TopicPartitions> reported_;
  std::vector<Record> records_;
  ConsumerGroup* group_ = nullptr;
  ClassicGroup* classic_ = nullptr;       ///< whose place the group takes
  std::unique_ptr<ConsumerGroup> begun_;  ///< a group that is not in the table yet
  const ConsumerMember* old_ = nullptr;
  std::optional<ConsumerMember> begun_member_;
  std::string replaced_id_;
};

Decision ConsumerProtocol::heartbeat(const RequestContext& context, const HeartbeatRequest& request,
                                     Reply<HeartbeatResponse> reply) {
  const auto decide = [&]() -> Checked<Decision> {
    if (auto checked = check(request, context.version, environment_.settings.consumer_assignors); !checked)
      return std::unexpected(checked.error());
    if (request.member_epoch == leave_epoch || request.member_epoch == leave_static_epoch)
      return leave(request, context.now, reply);
    return ConsumerHeartbeat(*this, context, request).run(reply);
  };
  auto decision = decide();
  if (!decision) return Decision::answer(reply.with(refused(decision.error())));
  return std::move(*decision);
}

}  // namespace barnabas::coordinator
