#include "broker/handlers/list_offsets.h"

#include <set>

#include "broker/error_map.h"
#include "broker/handlers/deferred.h"
#include "protocol/messages/list_offsets_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::ListOffsetsRequest;
using protocol::ListOffsetsResponse;
using Answer = ListOffsetsResponse::ListOffsetsPartitionResponse;

constexpr int16_t first_version_with_epochs = 4;

enum SpecialTimestamp : int64_t {
  latest = -1,
  earliest = -2,
  max_timestamp = -3,
  earliest_local = -4,
  latest_tiered = -5,
  earliest_pending_upload = -6,
};

/// The first version that knows a special timestamp; above every version for those that nobody knows.
int16_t first_version_of(int64_t timestamp) {
  switch (timestamp) {
    case max_timestamp:
      return 7;
    case earliest_local:
      return 8;
    case latest_tiered:
      return 9;
    case earliest_pending_upload:
      return 11;
    default:
      return timestamp >= earliest ? 0 : INT16_MAX;
  }
}

void set(Answer& answer, Offset offset, TimestampMs timestamp, LeaderEpoch epoch) {
  answer.offset = offset.value();
  answer.timestamp = timestamp.value();
  answer.leader_epoch = epoch.value();
}

ErrorCode find_by_time(Partition& partition, int64_t timestamp, Offset upper_bound, Answer& answer) {
  const auto found = timestamp == max_timestamp
                         ? partition.log().offset_of_max_timestamp()
                         : partition.log().offset_for_timestamp(TimestampMs{timestamp});
  if (!found) return error_code_of(found.error().kind);
  if (*found && (*found)->offset < upper_bound)
    set(answer, (*found)->offset, (*found)->timestamp, (*found)->leader_epoch);
  return ErrorCode::none;
}

ErrorCode look_up(Partition& partition, const ListOffsetsRequest& request, int64_t timestamp,
                  Answer& answer) {
  const Offset upper_bound =
      request.isolation_level == 1 ? partition.last_stable_offset() : partition.high_watermark();
  switch (timestamp) {
    case latest:
      set(answer, upper_bound, no_timestamp, partition.leader_epoch());
      return ErrorCode::none;
    case earliest:
    case earliest_local: {
      const Offset start = partition.log().log_start_offset();
      const LeaderEpoch epoch = partition.log().epoch_of(start);
      set(answer, start, no_timestamp, epoch == no_leader_epoch ? partition.leader_epoch() : epoch);
      return ErrorCode::none;
    }
    case latest_tiered:
    case earliest_pending_upload:
      return ErrorCode::none;
    default:
      return find_by_time(partition, timestamp, upper_bound, answer);
  }
}

ErrorCode answer_partition(Call& call, const ListOffsetsRequest& request, std::string_view topic,
                           const ListOffsetsRequest::ListOffsetsPartition& wanted, Answer& answer) {
  if (request.isolation_level < 0 || request.isolation_level > 1) return ErrorCode::unknown_server_error;
  if (first_version_of(wanted.timestamp) > call.version()) return ErrorCode::unsupported_version;
  const auto found = call.services().replicas.find(topic, PartitionIndex{wanted.partition_index});
  if (!found.partition) return found.error;
  const ErrorCode error = found.partition->check_leader_epoch(LeaderEpoch{wanted.current_leader_epoch});
  if (error != ErrorCode::none) return error;
  return look_up(*found.partition, request, wanted.timestamp, answer);
}

using Named = std::set<std::pair<std::string_view, int32_t>>;

/// Partitions that the request names more than once.
Named doubled(const ListOffsetsRequest& request) {
  Named seen;
  Named twice;
  for (const auto& topic : request.topics)
    for (const auto& partition : topic.partitions)
      if (!seen.emplace(topic.name.view(), partition.partition_index).second)
        twice.emplace(topic.name.view(), partition.partition_index);
  return twice;
}

void add_denied(const ListOffsetsRequest::ListOffsetsTopic& topic,
                ListOffsetsResponse::ListOffsetsTopicResponse& result) {
  for (const auto& wanted : topic.partitions) {
    Answer& answer = result.partitions.emplace_back();
    answer.partition_index = wanted.partition_index;
    answer.error_code = to_wire(ErrorCode::topic_authorization_failed);
    set(answer, no_offset, no_timestamp, no_leader_epoch);
  }
}

ListOffsetsResponse answer_all(Call& call, const ListOffsetsRequest& request, const Rights& rights) {
  ListOffsetsResponse response;
  const Named twice = doubled(request);
  Named answered;
  for (const auto& topic : request.topics) {
    auto& result = response.topics.emplace_back();
    result.name = topic.name;
    if (!rights.may(Right::list_offsets_topic, topic.name)) {
      add_denied(topic, result);
      continue;
    }
    for (const auto& wanted : topic.partitions) {
      const std::pair name(topic.name.view(), wanted.partition_index);
      const bool is_double = twice.contains(name);
      if (is_double && !answered.insert(name).second) continue;
      Answer& answer = result.partitions.emplace_back();
      answer.partition_index = wanted.partition_index;
      const ErrorCode error = is_double ? ErrorCode::invalid_request
                                        : answer_partition(call, request, topic.name, wanted, answer);
      answer.error_code = static_cast<int16_t>(error);
      if (error != ErrorCode::none) set(answer, no_offset, no_timestamp, no_leader_epoch);
      if (call.version() < first_version_with_epochs) answer.leader_epoch = no_leader_epoch.value();
    }
  }
  return response;
}

bool needs_disk(const ListOffsetsRequest& request) {
  for (const auto& topic : request.topics)
    for (const auto& partition : topic.partitions)
      if (partition.timestamp >= 0 || partition.timestamp == max_timestamp) return true;
  return false;
}

}  // namespace

void ListOffsetsHandler::handle(Call call, Request request) {
  const Rights rights = call.rights();
  if (!needs_disk(request)) return call.reply(answer_all(call, request, rights));
  answer_from_disk_pool(std::move(call), std::move(request), [rights](Call& waiting, const Request& asked) {
    return answer_all(waiting, asked, rights);
  });
}

}  // namespace barnabas::broker
