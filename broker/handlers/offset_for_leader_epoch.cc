#include "broker/handlers/offset_for_leader_epoch.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::OffsetForLeaderEpochRequest;
using protocol::OffsetForLeaderEpochResponse;

ErrorCode answer_partition(Call& call, std::string_view topic,
                           const OffsetForLeaderEpochRequest::OffsetForLeaderPartition& wanted,
                           OffsetForLeaderEpochResponse::EpochEndOffset& answer) {
  const auto found = call.services().replicas.find(topic, PartitionIndex{wanted.partition});
  if (!found.partition) return found.error;
  Partition& partition = *found.partition;
  const ErrorCode error = partition.check_leader_epoch(LeaderEpoch{wanted.current_leader_epoch});
  if (error != ErrorCode::none) return error;
  const LeaderEpoch asked{wanted.leader_epoch};
  if (asked == partition.leader_epoch()) {
    answer.leader_epoch = asked.value();
    answer.end_offset = partition.log().log_end_offset().value();
    return ErrorCode::none;
  }
  const auto end = partition.log().end_offset_for_epoch(asked);
  answer.leader_epoch = end.epoch.value();
  answer.end_offset = end.end_offset.value();
  return ErrorCode::none;
}

}  // namespace

OffsetForLeaderEpochResponse OffsetForLeaderEpochHandler::handle(Call& call, const Request& request) {
  OffsetForLeaderEpochResponse response;
  const Rights rights = call.rights();
  const bool all = rights.may(Right::offset_for_leader_epoch_as_broker);
  for (const auto& topic : request.topics) {
    auto& result = response.topics.emplace_back();
    result.topic = topic.topic;
    const bool allowed = all || rights.may(Right::offset_for_leader_epoch_topic, topic.topic);
    for (const auto& wanted : topic.partitions) {
      auto& answer = result.partitions.emplace_back();
      answer.partition = wanted.partition;
      answer.error_code = to_wire(allowed ? answer_partition(call, topic.topic, wanted, answer)
                                          : ErrorCode::topic_authorization_failed);
    }
  }
  return response;
}

}  // namespace barnabas::broker
