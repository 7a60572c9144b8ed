#include "coordinator/simulated_classic_member.h"

#include <gtest/gtest.h>

namespace barnabas::coordinator::testing {

using protocol::ErrorCode;
using std::chrono::seconds;

void SimulatedClassicMember::live() {
  const Instant now = around_.runner.now().instant;
  if (now < asleep_until_) return;
  if (!around_.calm && misbehave(now)) return;
  if (joining_) return continue_join(now);
  if (syncing_) return continue_sync(now);
  if (beating_) return continue_heartbeat(now);
  if (now < next_) return;
  switch (phase_) {
    case Phase::outside:
      return join();
    case Phase::joined:
      return sync();
    case Phase::member:
      return heartbeat();
  }
}

bool SimulatedClassicMember::misbehave(Instant now) {
  Dice& dice = around_.dice;
  if (dice.one_in(400)) {  // its process dies, and is started again some time later
    start_again(now + dice.up_to(seconds(40)));
    return true;
  }
  if (dice.one_in(300)) {
    asleep_until_ = now + dice.up_to(seconds(25));
    return true;
  }
  if (phase_ == Phase::member && dice.one_in(150)) join_again();
  if (dice.one_in(300)) {
    leave();
    start_again(now + dice.up_to(seconds(10)));
    return true;
  }
  return false;
}

void SimulatedClassicMember::start_again(Instant at) {
  joining_.reset();
  syncing_.reset();
  beating_.reset();
  forget_membership();
  next_ = at;
}

void SimulatedClassicMember::forget_membership() {
  member_id_.clear();
  phase_ = Phase::outside;
  lost();
}

template <class Request, class Ask, class Told>
AnswerPtr<typename Request::Response> SimulatedClassicMember::ask(Request request, Ask ask, Told told) {
  using Response = typename Request::Response;
  auto kept = std::make_shared<const Request>(std::move(request));
  around_.requests.push_back(kept);
  auto [to_client, answer] = reply_and_answer<Response>();
  Reply<Response> reply(
      [told, to_client = std::move(to_client)](std::expected<Response, ErrorCode> content) mutable {
        if (!content) return to_client.with_error(content.error())(ErrorCode::none);
        told(*content);
        to_client.with(std::move(*content))(ErrorCode::none);
      });
  asked_at_ = around_.runner.now().instant;
  around_.runner.carry_out(ask(*kept, std::move(reply)));
  return answer;
}

/// Whether there is something to read. A connection that closed means: try again.
template <class Response>
bool SimulatedClassicMember::has_come(AnswerPtr<Response>& answer, Instant now) {
  if (answer->came() && answer->refused() == ErrorCode::none) return true;
  if (answer->dropped || answer->came()) {
    phase_ = Phase::outside;
    next_ = now + around_.dice.up_to(seconds(2));
    answer.reset();
    return false;
  }
  EXPECT_LT(now - asked_at_, around_.answered_within) << name_ << " waits for ever";
  if (now - asked_at_ >= around_.answered_within || (!around_.calm && around_.dice.one_in(200))) {
    phase_ = Phase::outside;  // it loses patience, and with it the connection
    answer.reset();
  }
  return false;
}

void SimulatedClassicMember::join() {
  before_join();
  protocol::JoinGroupRequest request;
  request.group_id = "g";
  request.member_id = member_id_;
  if (is_static_) request.group_instance_id = name_;
  request.session_timeout_ms = static_cast<int32_t>(session_timeout.count());
  request.rebalance_timeout_ms = static_cast<int32_t>(rebalance_timeout.count());
  request.protocol_type = "consumer";
  for (auto& spoken : protocols()) {
    auto& one = request.protocols.emplace_back();
    one.name = spoken.name;
    one.metadata = std::move(spoken.bytes);
  }
  joining_ = ask(
      std::move(request),
      [this](const auto& asked, auto reply) {
        const auto version = static_cast<int16_t>(is_static_ || around_.dice.one_in(2) ? 9 : 3);
        return around_.runner.shard().join_group(context(version), asked, std::move(reply));
      },
      [this](const protocol::JoinGroupResponse& response) {
        if (response.error_code == 0) join_left(response);
      });
}

void SimulatedClassicMember::continue_join(Instant now) {
  if (!has_come(joining_, now)) return;
  const protocol::JoinGroupResponse response = std::exchange(joining_, nullptr)->response();
  switch (const auto error = static_cast<ErrorCode>(response.error_code)) {
    case ErrorCode::none:
      member_id_ = response.member_id.str();
      generation_ = response.generation_id;
      protocol_ = response.protocol_name->str();
      listed_.clear();
      if (!response.skip_assignment)
        for (const auto& member : response.members)
          listed_.push_back({member.member_id.str(), member.metadata.owned()});
      phase_ = Phase::joined;
      joined();
      break;
    case ErrorCode::member_id_required:
      member_id_ = response.member_id.str();
      break;
    case ErrorCode::fenced_instance_id:
      EXPECT_TRUE(is_static_);
      start_again(now + seconds(1));
      break;
    case ErrorCode::unknown_member_id:
      forget_membership();
      break;
    case ErrorCode::group_max_size_reached:
      forget_membership();
      next_ = now + around_.dice.up_to(seconds(5));
      break;
    case ErrorCode::rebalance_in_progress:
      break;
    case ErrorCode::not_coordinator:
      next_ = now + around_.dice.up_to(seconds(2));
      break;
    default:
      join_refused_with(error);
  }
}

void SimulatedClassicMember::join_refused_with(ErrorCode error) {
  ADD_FAILURE() << "join was answered with " << static_cast<int>(error);
}

void SimulatedClassicMember::sync() {
  protocol::SyncGroupRequest request;
  request.group_id = "g";
  request.member_id = member_id_;
  if (is_static_) request.group_instance_id = name_;
  request.generation_id = generation_;
  request.protocol_type = "consumer";
  request.protocol_name = protocol_;
  if (!listed_.empty()) {
    for (auto& one : share_out(listed_)) {
      auto& share = request.assignments.emplace_back();
      share.member_id = one.name;
      share.assignment = std::move(one.bytes);
    }
  }
  syncing_ = ask(
      std::move(request),
      [this](const auto& asked, auto reply) {
        return around_.runner.shard().sync_group(context(5), asked, std::move(reply));
      },
      [this, generation = generation_](const protocol::SyncGroupResponse& response) {
        if (response.error_code == 0) share_left(generation, as_text(response.assignment.view()));
      });
}

void SimulatedClassicMember::continue_sync(Instant now) {
  if (!has_come(syncing_, now)) return;
  const protocol::SyncGroupResponse response = std::exchange(syncing_, nullptr)->response();
  if (response.error_code != 0) return obey(static_cast<ErrorCode>(response.error_code), now);
  phase_ = Phase::member;
  next_ = now + seconds(3);
  if (take(response.assignment.view())) return;
  join_again();
  next_ = now;
}

void SimulatedClassicMember::heartbeat() {
  protocol::HeartbeatRequest request;
  request.group_id = "g";
  request.member_id = member_id_;
  if (is_static_) request.group_instance_id = name_;
  request.generation_id = generation_;
  beating_ = ask(
      std::move(request),
      [this](const auto& asked, auto reply) {
        return around_.runner.shard().heartbeat(context(4), asked, std::move(reply));
      },
      [](const auto&) {});
}

void SimulatedClassicMember::continue_heartbeat(Instant now) {
  if (!has_come(beating_, now)) return;
  const auto error = static_cast<ErrorCode>(std::exchange(beating_, nullptr)->response().error_code);
  next_ = now + seconds(3);
  if (error != ErrorCode::none) obey(error, now);
}

void SimulatedClassicMember::obey(ErrorCode error, Instant now) {
  phase_ = Phase::outside;
  next_ = now + (around_.dice.one_in(3) ? around_.dice.up_to(seconds(8)) : std::chrono::milliseconds(250));
  if (error == ErrorCode::fenced_instance_id) return start_again(now + seconds(1));
  if (error == ErrorCode::unknown_member_id || error == ErrorCode::illegal_generation)
    return forget_membership();
  EXPECT_TRUE(error == ErrorCode::rebalance_in_progress || error == ErrorCode::inconsistent_group_protocol)
      << static_cast<int>(error);
}

void SimulatedClassicMember::leave() {
  if (member_id_.empty()) return;
  protocol::LeaveGroupRequest request;
  request.group_id = "g";
  auto& member = request.members.emplace_back();
  member.member_id = member_id_;
  if (is_static_) member.group_instance_id = name_;
  ask(
      std::move(request),
      [this](const auto& asked, auto reply) {
        return around_.runner.shard().leave_group(context(5), asked, std::move(reply));
      },
      [](const auto&) {});
}

}  // namespace barnabas::coordinator::testing
