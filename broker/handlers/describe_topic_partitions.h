#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_topic_partitions_request.h"
#include "protocol/messages/describe_topic_partitions_response.h"

namespace barnabas::broker {

/// DescribeTopicPartitions (75), v0 (KIP-966). Topics sorted by name, page by page: at most
/// response_partition_limit partitions an answer (at least 1, at most max.request.partition.size.limit), and
/// a cursor where to go on.
///  - An empty list is all topics. A cursor on a topic that was not asked for is invalid_request for every
///  topic.
struct DescribeTopicPartitionsHandler {
  using Request = protocol::DescribeTopicPartitionsRequest;
  static Request::Response handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
