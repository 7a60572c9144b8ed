// AlterPartitionReassignments (45) and ListPartitionReassignments (46): rules and texts as Apache Kafka 4.4
// has them.

#include <algorithm>
#include <set>
#include <utility>

#include "cluster/api_error.h"
#include "cluster/local_controller.h"
#include "cluster/partition_change.h"
#include "metadata/record_versions.h"

namespace barnabas::cluster {
namespace {

using metadata::MetadataImage;
using metadata::PartitionImage;
using metadata::TopicImage;
using protocol::ErrorCode;
using AlterRequest = protocol::AlterPartitionReassignmentsRequest;
using AlterResponse = protocol::AlterPartitionReassignmentsResponse;
using ListRequest = protocol::ListPartitionReassignmentsRequest;
using ListResponse = protocol::ListPartitionReassignmentsResponse;
using Nodes = std::vector<NodeId>;

Nodes without(const Nodes& nodes, const Nodes& others) {
  Nodes left;
  std::ranges::copy_if(nodes, std::back_inserter(left),
                       [&](NodeId node) { return std::ranges::find(others, node) == others.end(); });
  return left;
}

std::vector<int32_t> numbers(const Nodes& nodes) {
  std::vector<int32_t> result;
  for (const NodeId node : nodes) result.push_back(node.value());
  return result;
}

/// Any registered broker will do, also one that is down: it may come back and catch up.
std::optional<ApiError> assignment_problem(std::vector<int32_t> brokers, const MetadataImage& image) {
  const auto problem = [](const std::string& what) {
    return ApiError{ErrorCode::invalid_replica_assignment,
                    "The manual partition assignment includes " + what};
  };
  if (brokers.empty()) return problem("an empty replica list.");
  std::ranges::sort(brokers);
  for (std::size_t i = 0; i < brokers.size(); ++i) {
    const std::string broker = std::to_string(brokers[i]);
    if (image.broker(NodeId(brokers[i])) == nullptr)
      return problem("broker " + broker + ", but no such broker is registered.");
    if (i > 0 && brokers[i] == brokers[i - 1]) return problem("the broker " + broker + " more than once.");
  }
  return std::nullopt;
}

class Reassignment {
 public:
  Reassignment(const MetadataImage& image, NodeId node, const metadata::StaticConfig& config)
      : image_(image), node_(node), config_(config) {}

  std::optional<ApiError> alter(std::string_view topic_name,
                                const AlterRequest::ReassignablePartition& wanted, bool factor_may_change) {
    const TopicImage* topic = image_.topic(topic_name);
    if (topic == nullptr)
      return ApiError{ErrorCode::unknown_topic_or_partition,
                      "Unable to find a topic named " + std::string(topic_name) + "."};
    const PartitionIndex index(wanted.partition_index);
    const PartitionImage* partition = topic->partition(index);
    if (partition == nullptr)
      return ApiError{
          ErrorCode::unknown_topic_or_partition,
          "Unable to find partition " + topic->name + ":" + std::to_string(wanted.partition_index) + "."};
    if (!wanted.replicas) return cancel(*topic, index, *partition);
    if (auto problem = assignment_problem(*wanted.replicas, image_)) return problem;
    if (!factor_may_change) {
      const std::size_t factor = without(partition->replicas, partition->removing_replicas).size();
      if (factor != wanted.replicas->size())
        return ApiError{ErrorCode::invalid_replication_factor, "The replication factor is changed from " +
                                                                   std::to_string(factor) + " to " +
                                                                   std::to_string(wanted.replicas->size())};
    }
    Nodes replicas;
    for (const int32_t broker : *wanted.replicas) replicas.emplace_back(broker);
    PartitionTarget target(*partition);
    target.removing = without(partition->replicas, replicas);
    target.adding = without(replicas, partition->replicas);
    std::ranges::sort(target.removing);
    std::ranges::sort(target.adding);
    target.replicas = std::move(replicas);
    target.replicas.insert(target.replicas.end(), target.removing.begin(), target.removing.end());
    change(*topic, index, *partition, std::move(target), Election::online);
    return std::nullopt;
  }

  metadata::RecordList records;

 private:
  std::optional<ApiError> cancel(const TopicImage& topic, PartitionIndex index,
                                 const PartitionImage& partition) {
    if (!is_reassigning(partition)) return ApiError{ErrorCode::no_reassignment_in_progress, std::nullopt};
    const bool unclean_allowed = metadata::topic_config_in_force("unclean.leader.election.enable", topic.name,
                                                                 image_, node_, config_) == "true";
    PartitionTarget target(partition);
    target.replicas = without(partition.replicas, partition.adding_replicas);
    target.isr = without(partition.isr, partition.adding_replicas);
    target.adding.clear();
    target.removing.clear();
    if (target.isr.empty()) {
      // Only the new replicas hold everything: going back loses records.
      if (!unclean_allowed)
        return ApiError{ErrorCode::invalid_replica_assignment,
                        "Unable to revert partition assignment for " + topic.name + ":" +
                            std::to_string(index.value()) +
                            " because it would require an unclean leader election."};
      if (!target.replicas.empty()) target.isr = {target.replicas.front()};
    }
    change(topic, index, partition, std::move(target),
           unclean_allowed ? Election::unclean : Election::online);
    return std::nullopt;
  }

  void change(const TopicImage& topic, PartitionIndex index, const PartitionImage& partition,
              PartitionTarget target, Election election) {
    const auto record = change_partition(
        topic.id, index, partition, std::move(target),
        {.image = image_,
         .election = election,
         .min_insync_replicas = min_insync_replicas(topic.name, image_, node_, config_),
         .is_alive = [this](const auto& which, NodeId node) { return is_alive_in(image_, which, node); }});
    if (record) records.add(*record, metadata::partition_change_record_version(image_.metadata_version()));
  }

  const MetadataImage& image_;
  NodeId node_;
  const metadata::StaticConfig& config_;
};

void list_topic(const TopicImage& topic, const std::vector<int32_t>* wanted, ListResponse& response) {
  ListResponse::OngoingTopicReassignment item;
  const auto add = [&](int32_t index) {
    const PartitionImage* partition = topic.partition(PartitionIndex(index));
    if (partition == nullptr || !is_reassigning(*partition)) return;
    auto& ongoing = item.partitions.emplace_back();
    ongoing.partition_index = index;
    ongoing.replicas = numbers(partition->replicas);
    ongoing.adding_replicas = numbers(partition->adding_replicas);
    ongoing.removing_replicas = numbers(partition->removing_replicas);
  };
  if (wanted != nullptr) {
    std::ranges::for_each(*wanted, add);
  } else {
    for (int32_t index = 0; index < topic.partition_count(); ++index) add(index);
  }
  if (item.partitions.empty()) return;
  item.name = protocol::String(topic.name);
  response.topics.push_back(std::move(item));
}

}  // namespace

Outcome<AlterResponse> LocalController::alter_partition_reassignments(const AlterRequest& request,
                                                                      const ControllerState& state) const {
  Outcome<AlterResponse> outcome;
  outcome.response.allow_replication_factor_change = request.allow_replication_factor_change;
  if (request.topics.empty()) return outcome;
  outcome.response.error_message.reset();
  Reassignment reassignment(state.image, options_.node_id, *options_.static_config);
  std::set<std::pair<std::string_view, int32_t>> changed;
  for (const auto& topic : request.topics) {
    auto& item = outcome.response.responses.emplace_back();
    item.name = topic.name.owned();
    for (const auto& partition : topic.partitions) {
      auto& result = item.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      result.error_message.reset();
      // Decided upon one state: what the first entry made of the partition is not yet there for a second one.
      const std::pair key{topic.name.view(), partition.partition_index};
      const std::size_t before = reassignment.records.size();
      const auto error =
          changed.contains(key)
              ? ApiError{ErrorCode::invalid_request, "The partition is named more than once."}
              : reassignment.alter(topic.name, partition, request.allow_replication_factor_change);
      if (reassignment.records.size() != before) changed.insert(key);
      if (error) set_error(result, *error);
    }
  }
  outcome.records = std::move(reassignment.records);
  return outcome;
}

Outcome<ListResponse> LocalController::list_partition_reassignments(const ListRequest& request,
                                                                    const ControllerState& state) const {
  Outcome<ListResponse> outcome;
  outcome.response.error_message.reset();
  if (request.topics) {
    for (const auto& wanted : *request.topics) {
      if (const auto* topic = state.image.topic(wanted.name))
        list_topic(*topic, &wanted.partition_indexes, outcome.response);
    }
  } else {
    for (const auto& topic : state.image.topics_by_name) list_topic(*topic, nullptr, outcome.response);
  }
  return outcome;
}

}  // namespace barnabas::cluster
