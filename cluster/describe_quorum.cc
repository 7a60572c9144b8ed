// DescribeQuorum (55): rules and texts as Apache Kafka 4.4 has them.

#include "cluster/api_error.h"
#include "cluster/local_controller.h"

namespace barnabas::cluster {
namespace {

using protocol::ErrorCode;
using Request = protocol::DescribeQuorumRequest;
using Response = protocol::DescribeQuorumResponse;

bool asks_for_the_metadata_log(const Request& request) {
  return request.topics.size() == 1 && request.topics.front().topic_name == "__cluster_metadata" &&
         request.topics.front().partitions.size() == 1 &&
         request.topics.front().partitions.front().partition_index == 0;
}

/// The one thing that can be asked for, or an error for everything.
Response refuse_all(const Request& request) {
  Response response;
  for (const auto& topic : request.topics) {
    auto& item = response.topics.emplace_back();
    item.topic_name = topic.topic_name.owned();
    for (const auto& partition : topic.partitions) {
      auto& answer = item.partitions.emplace_back();
      answer.partition_index = partition.partition_index;
      set_error(answer,
                {ErrorCode::unknown_topic_or_partition, "This server does not host this topic-partition."});
    }
  }
  return response;
}

void add_node(Response& response, NodeId id, const std::vector<metadata::BrokerEndpoint>& endpoints) {
  auto& node = response.nodes.emplace_back();
  node.node_id = id.value();
  for (const auto& endpoint : endpoints) {
    auto& listener = node.listeners.emplace_back();
    listener.name = protocol::String(endpoint.listener);
    listener.host = protocol::String(endpoint.host);
    listener.port = endpoint.port;
  }
}

}  // namespace

Outcome<Response> LocalController::describe_quorum(const Request& request,
                                                   const ControllerState& state) const {
  Outcome<Response> outcome;
  if (!asks_for_the_metadata_log(request)) {
    outcome.response = refuse_all(request);
    return outcome;
  }
  auto& topic = outcome.response.topics.emplace_back();
  topic.topic_name = request.topics.front().topic_name.owned();
  auto& partition = topic.partitions.emplace_back();
  partition.partition_index = 0;
  partition.leader_id = options_.node_id.value();
  partition.leader_epoch = state.quorum.epoch.value();
  // Answered after all that lies before it is committed.
  partition.high_watermark = state.next_offset.value();
  auto& voter = partition.current_voters.emplace_back();
  voter.replica_id = options_.node_id.value();
  // With kraft.version 0 the settings name the voters, and know of no directories.
  if (state.image.kraft_version >= 1) voter.replica_directory_id = state.quorum.directory_id;
  voter.log_end_offset = state.next_offset.value();
  // A leader is always caught up with itself.
  voter.last_fetch_timestamp = state.now.value();
  voter.last_caught_up_timestamp = state.now.value();
  if (!state.image.voters.empty()) {
    for (const auto& member : state.image.voters) add_node(outcome.response, member.id, member.endpoints);
  } else {
    add_node(outcome.response, options_.node_id, {state.quorum.controller_endpoint});
  }
  return outcome;
}

}  // namespace barnabas::cluster
