#include "broker/handlers/delete_records.h"

#include "broker/error_map.h"
#include "broker/handlers/deferred.h"
#include "broker/handlers/topic_description.h"
#include "protocol/messages/delete_records_response.h"

namespace barnabas::broker {
namespace {

using protocol::DeleteRecordsRequest;
using protocol::DeleteRecordsResponse;
using protocol::ErrorCode;

constexpr int64_t up_to_high_watermark = -1;

ErrorCode delete_from(Call& call, std::string_view topic,
                      const DeleteRecordsRequest::DeleteRecordsPartition& wanted,
                      DeleteRecordsResponse::DeleteRecordsPartitionResult& answer) {
  const auto found = call.services().replicas.find(topic, PartitionIndex{wanted.partition_index});
  if (!found.partition) return found.error;
  if (is_internal_topic(topic)) return ErrorCode::invalid_topic_exception;
  Partition& partition = *found.partition;
  if (!partition.settings()->log.cleanup_delete) return ErrorCode::policy_violation;
  const Offset high_watermark = partition.high_watermark();
  const Offset before = wanted.offset == up_to_high_watermark ? high_watermark : Offset{wanted.offset};
  if (before < Offset{0} || before > high_watermark) return ErrorCode::offset_out_of_range;
  const auto start = partition.delete_records_before(before);
  if (!start) return error_code_of(start.error().kind);
  answer.low_watermark = start->value();
  return ErrorCode::none;
}

DeleteRecordsResponse delete_all(Call& call, const DeleteRecordsRequest& request, const Rights& rights) {
  DeleteRecordsResponse response;
  std::vector<storage::TopicPartition> moved;
  for (const auto& topic : request.topics) {
    auto& result = response.topics.emplace_back();
    result.name = topic.name;
    const bool allowed = rights.may(Right::delete_records_topic, topic.name);
    for (const auto& wanted : topic.partitions) {
      auto& answer = result.partitions.emplace_back();
      answer.partition_index = wanted.partition_index;
      const ErrorCode error =
          allowed ? delete_from(call, topic.name, wanted, answer) : ErrorCode::topic_authorization_failed;
      answer.error_code = to_wire(error);
      if (error != ErrorCode::none) {
        answer.low_watermark = -1;
      } else {
        moved.push_back({topic.name.str(), PartitionIndex{wanted.partition_index}});
      }
    }
  }
  call.services().logs.checkpoint_log_starts(moved);
  return response;
}

}  // namespace

void DeleteRecordsHandler::handle(Call call, Request request) {
  const Rights rights = call.rights();
  answer_from_disk_pool(std::move(call), std::move(request), [rights](Call& waiting, const Request& asked) {
    return delete_all(waiting, asked, rights);
  });
}

}  // namespace barnabas::broker
