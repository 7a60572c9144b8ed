#include "coordinator/simulated_consumer_member.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace barnabas::coordinator::testing {

TopicPartitions by_topic(const Partitions& partitions) {
  TopicPartitions topics;
  for (const auto& [topic, partition] : partitions) topics[topic].push_back(partition);
  return topics;
}

ConsumerGroupHeartbeatRequest SimulatedConsumerMember::heartbeat() const {
  auto next = heartbeat_request("g", id, epoch);
  if (instance) next.instance_id = protocol::String(*instance);
  const bool all = says_all || epoch == 0;
  if (all || subscription_changed) {
    next.subscribed_topic_names.emplace(topics.begin(), topics.end());
    next.subscribed_topic_regex = protocol::String(regex);
  }
  if (all) {
    next.rebalance_timeout_ms = 20'000;
    if (!assignor.empty()) next.server_assignor = protocol::String(assignor);
  }
  if (all || says_owned) report(next, by_topic(owned));
  return next;
}

ConsumerGroupHeartbeatRequest SimulatedConsumerMember::farewell() const {
  auto last = heartbeat_request("g", id, instance ? leave_static_epoch : leave_epoch);
  if (instance) last.instance_id = protocol::String(*instance);
  return last;
}

void SimulatedConsumerMember::lose_answer() {
  answer.reset();
  says_all = true;
}

void SimulatedConsumerMember::begin_again() {
  epoch = 0;
  owned.clear();
  wanted.reset();
  says_all = true;
}

void SimulatedConsumerMember::take_answer() {
  if (!answer->came()) {
    if (answer->dropped) lose_answer();
    return;
  }
  if (!answer->content->has_value()) return lose_answer();
  const ConsumerGroupHeartbeatResponse response = answer->response();
  answer.reset();
  switch (const auto error = static_cast<ErrorCode>(response.error_code)) {
    case ErrorCode::unknown_member_id:
    case ErrorCode::fenced_member_epoch:
    case ErrorCode::group_id_not_found:
    // These are fatal, but the next one may come once this one's session has ended.
    case ErrorCode::fenced_instance_id:
    case ErrorCode::unreleased_instance_id:
      return begin_again();
    default:
      ASSERT_EQ(error, ErrorCode::none) << response.error_message->view();
  }
  ASSERT_GE(response.member_epoch, epoch) << id;
  epoch = response.member_epoch;
  says_all = false;
  says_owned = false;
  const std::vector<protocol::String> subscribed(topics.begin(), topics.end());
  if (request->subscribed_topic_names == subscribed) subscription_changed = false;
  if (!response.assignment) return;
  wanted.emplace();
  for (const auto& topic : response.assignment->topic_partitions)
    for (const int32_t partition : topic.partitions) wanted->insert({topic.topic_id, partition});
}

void SimulatedConsumerMember::come_to_assignment(const std::function<bool(int)>& dawdles) {
  if (!wanted || (!says_all && dawdles(3))) return;
  Partitions kept;
  std::ranges::set_intersection(owned, *wanted, std::inserter(kept, kept.end()));
  if (kept != owned) {
    owned = std::move(kept);
    says_owned = false;
    if (!says_all && dawdles(2)) return;
  }
  owned = *wanted;
  wanted.reset();
  says_owned = true;
}

}  // namespace barnabas::coordinator::testing
