#include "broker/handlers/describe_producers.h"

#include "metadata/topic_name.h"

namespace barnabas::broker {
namespace {

using protocol::DescribeProducersResponse;
using protocol::ErrorCode;

void describe(Partition& partition, DescribeProducersResponse::PartitionResponse& answer) {
  for (const storage::ProducerStateEntry& producer : partition.log().producers()) {
    auto& state = answer.active_producers.emplace_back();
    state.producer_id = producer.producer_id.value();
    state.producer_epoch = producer.epoch.value();
    state.last_sequence = producer.last_sequence();
    state.last_timestamp = producer.last_timestamp.value();
    state.coordinator_epoch = producer.coordinator_epoch;
    state.current_txn_start_offset = producer.current_txn_first_offset.value();
  }
}

void fail(DescribeProducersResponse::PartitionResponse& answer, ErrorCode error,
          std::optional<std::string> message) {
  answer.error_code = to_wire(error);
  if (message) answer.error_message = protocol::String(*message);
}

void answer_partition(Call& call, std::string_view topic, const Rights& rights,
                      DescribeProducersResponse::PartitionResponse& answer) {
  if (auto problem = metadata::topic_name_problem(topic))
    return fail(answer, ErrorCode::invalid_topic_exception, std::move(problem));
  if (!rights.may(Right::describe_producers_topic, topic))
    return fail(answer, ErrorCode::topic_authorization_failed,
                std::string(default_message(ErrorCode::topic_authorization_failed)));
  const auto image = call.services().metadata.current();
  if (image->topic(topic) == nullptr)
    return fail(answer, ErrorCode::unknown_topic_or_partition,
                "This server does not host this topic-partition.");
  const auto found = call.services().replicas.find(topic, PartitionIndex{answer.partition_index});
  if (!found.partition) return fail(answer, found.error, std::nullopt);
  describe(*found.partition, answer);
}

}  // namespace

DescribeProducersResponse DescribeProducersHandler::handle(Call& call, const Request& request) {
  DescribeProducersResponse response;
  const Rights rights = call.rights();
  for (const auto& topic : request.topics) {
    auto& result = response.topics.emplace_back();
    result.name = topic.name;
    for (const int32_t index : topic.partition_indexes) {
      auto& answer = result.partitions.emplace_back();
      answer.partition_index = index;
      answer_partition(call, topic.name, rights, answer);
    }
  }
  return response;
}

}  // namespace barnabas::broker
