// ElectLeaders (43): rules and texts as Apache Kafka 4.4 has them.

#include <set>
#include <utility>

#include "cluster/api_error.h"
#include "cluster/local_controller.h"
#include "cluster/partition_change.h"
#include "metadata/record_versions.h"

namespace barnabas::cluster {
namespace {

using metadata::MetadataImage;
using metadata::TopicImage;
using protocol::ErrorCode;
using Request = protocol::ElectLeadersRequest;
using Response = protocol::ElectLeadersResponse;

constexpr int8_t preferred_election = 0;
constexpr int8_t unclean_election = 1;

ApiError not_needed() {
  return {ErrorCode::election_not_needed, "Leader election not needed for topic partition."};
}

class LeaderElection {
 public:
  LeaderElection(const MetadataImage& image, Election election, NodeId node,
                 const metadata::StaticConfig& config)
      : image_(image), election_(election), node_(node), config_(config) {}

  std::optional<ApiError> elect(std::string_view topic_name, int32_t index) {
    const TopicImage* topic = image_.topic(topic_name);
    if (topic == nullptr)
      return ApiError{ErrorCode::unknown_topic_or_partition, "No such topic as " + std::string(topic_name)};
    const auto* partition = topic->partition(PartitionIndex(index));
    if (partition == nullptr)
      return ApiError{ErrorCode::unknown_topic_or_partition,
                      "No such partition as " + topic->name + "-" + std::to_string(index)};
    const bool led = partition->leader != metadata::no_node;
    const bool by_preferred =
        led && !partition->replicas.empty() && partition->leader == partition->replicas.front();
    const bool unclean = election_ == Election::unclean;
    if (unclean ? led : by_preferred) return not_needed();

    const auto record = change_partition(
        topic->id, PartitionIndex(index), *partition, PartitionTarget(*partition),
        {.image = image_,
         .election = election_,
         .min_insync_replicas = min_insync_replicas(topic->name, image_, node_, config_),
         .is_alive = [this](const auto& which, NodeId node) { return is_alive_in(image_, which, node); }});
    if (!record)
      return unclean ? ApiError{ErrorCode::eligible_leaders_not_available,
                                "Eligible topic partition leaders are not available."}
                     : ApiError{ErrorCode::preferred_leader_not_available,
                                "The preferred leader was not available."};
    records.add(*record, metadata::partition_change_record_version(image_.metadata_version()));
    return std::nullopt;
  }

  metadata::RecordList records;

 private:
  const MetadataImage& image_;
  Election election_;
  NodeId node_;
  const metadata::StaticConfig& config_;
};

void answer(Response::ReplicaElectionResult& topic, int32_t partition, const std::optional<ApiError>& error) {
  auto& result = topic.partition_result.emplace_back();
  result.partition_id = partition;
  result.error_message.reset();
  if (error) set_error(result, *error);
}

Response refuse_type(const Request& request) {
  Response response;
  const ApiError error{ErrorCode::invalid_request,
                       "Unknown election type " + std::to_string(request.election_type)};
  response.error_code = to_wire(error.code);
  if (!request.topic_partitions) return response;
  for (const auto& topic : *request.topic_partitions) {
    auto& item = response.replica_election_results.emplace_back();
    item.topic = topic.topic.owned();
    for (const int32_t partition : topic.partitions) answer(item, partition, error);
  }
  return response;
}

}  // namespace

Outcome<Response> LocalController::elect_leaders(const Request& request, const ControllerState& state) const {
  Outcome<Response> outcome;
  if (request.election_type != preferred_election && request.election_type != unclean_election) {
    outcome.response = refuse_type(request);
    return outcome;
  }
  LeaderElection election(state.image,
                          request.election_type == unclean_election ? Election::unclean : Election::preferred,
                          options_.node_id, *options_.static_config);
  auto& results = outcome.response.replica_election_results;
  if (request.topic_partitions) {
    // One batch is one state: a partition named twice is decided upon the same image and may not change
    // twice.
    std::set<std::pair<std::string_view, int32_t>> elected;
    for (const auto& topic : *request.topic_partitions) {
      auto& item = results.emplace_back();
      item.topic = topic.topic.owned();
      for (const int32_t partition : topic.partitions) {
        if (elected.contains({topic.topic.view(), partition})) {
          answer(item, partition, not_needed());
          continue;
        }
        const auto error = election.elect(topic.topic, partition);
        if (!error) elected.emplace(topic.topic.view(), partition);
        answer(item, partition, error);
      }
    }
  } else {
    // Each topic is named, but only those partitions with something to tell.
    for (const auto& topic : state.image.topics_by_name) {
      auto& item = results.emplace_back();
      item.topic = protocol::String(topic->name);
      for (int32_t partition = 0; partition < topic->partition_count(); ++partition) {
        const auto error = election.elect(topic->name, partition);
        if (!error || error->code != ErrorCode::election_not_needed) answer(item, partition, error);
      }
    }
  }
  outcome.records = std::move(election.records);
  return outcome;
}

}  // namespace barnabas::cluster
