// What a broker asks of its controller about itself: BrokerRegistration (62), BrokerHeartbeat (63),
// AllocateProducerIds (67) and AssignReplicasToDirs (73).

#include <algorithm>
#include <limits>

#include "cluster/local_controller.h"
#include "metadata/record_versions.h"
#include "protocol/messages/broker_registration_change_record.h"
#include "protocol/messages/partition_change_record.h"
#include "protocol/messages/producer_ids_record.h"
#include "protocol/messages/register_broker_record.h"

namespace barnabas::cluster {
namespace {

using metadata::BrokerImage;
using metadata::MetadataImage;
using metadata::PartitionImage;
using protocol::ErrorCode;
using protocol::to_wire;

/// The registration that a request speaks for, if it is the present one.
const BrokerImage* registration(const MetadataImage& image, int32_t broker, int64_t epoch) {
  const BrokerImage* registered = image.broker(NodeId(broker));
  return registered != nullptr && registered->epoch == BrokerEpoch(epoch) ? registered : nullptr;
}

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::ranges::find(nodes, node) != nodes.end();
}

std::optional<ErrorCode> registration_problem(const protocol::BrokerRegistrationRequest& request,
                                              const MetadataImage& image) {
  if (request.cluster_id != image.cluster_id) return ErrorCode::inconsistent_cluster_id;
  if (request.is_migrating_zk_broker) return ErrorCode::broker_id_not_registered;
  if (request.log_dirs.empty() && metadata::has_directories(image.metadata_version()))
    return ErrorCode::invalid_registration;
  auto directories = request.log_dirs;
  std::ranges::sort(directories);
  if (std::ranges::adjacent_find(directories) != directories.end()) return ErrorCode::invalid_registration;
  for (const auto& [feature, level] : image.features) {
    const auto claimed =
        std::ranges::find(request.features, feature, [](const auto& each) { return each.name.view(); });
    const bool covered = claimed != request.features.end() && claimed->min_supported_version <= level &&
                         level <= claimed->max_supported_version;
    if (!covered) return ErrorCode::unsupported_version;
  }
  return std::nullopt;
}

protocol::RegisterBrokerRecord registration_record(const protocol::BrokerRegistrationRequest& request,
                                                   Offset epoch) {
  protocol::RegisterBrokerRecord record;
  record.broker_id = request.broker_id;
  record.incarnation_id = request.incarnation_id;
  record.broker_epoch = epoch.value();
  for (const auto& listener : request.listeners) {
    auto& endpoint = record.end_points.emplace_back();
    endpoint.name = listener.name;
    endpoint.host = listener.host;
    endpoint.port = listener.port;
    endpoint.security_protocol = listener.security_protocol;
  }
  for (const auto& feature : request.features) {
    auto& added = record.features.emplace_back();
    added.name = feature.name;
    added.min_supported_version = feature.min_supported_version;
    added.max_supported_version = feature.max_supported_version;
  }
  record.rack = request.rack;
  record.fenced = true;
  record.log_dirs = request.log_dirs;
  return record;
}

protocol::PartitionChangeRecord change_of(const Uuid& topic, std::size_t index) {
  protocol::PartitionChangeRecord record;
  record.topic_id = topic;
  record.partition_id = static_cast<int32_t>(index);
  return record;
}

/// Makes `node` leader, alone in the ISR if it was not in it: nobody else can be alive.
protocol::PartitionChangeRecord election(const Uuid& topic, std::size_t index,
                                         const PartitionImage& partition, NodeId node) {
  auto record = change_of(topic, index);
  record.leader = node.value();
  if (!contains(partition.isr, node)) record.isr = std::vector<int32_t>{node.value()};
  if (!partition.eligible_leader_replicas.empty()) record.eligible_leader_replicas.emplace();
  if (!partition.last_known_elr.empty()) record.last_known_elr.emplace();
  return record;
}

/// Whether the node's log may hold everything that was acknowledged.
bool may_lead(const PartitionImage& partition, NodeId node) {
  if (contains(partition.isr, node) || contains(partition.eligible_leader_replicas, node)) return true;
  return partition.isr.empty() && partition.eligible_leader_replicas.empty() &&
         contains(partition.last_known_elr, node);
}

template <class Visit>
void for_each_partition(const MetadataImage& image, Visit&& visit) {
  for (const auto& topic : image.topics_by_id) {
    for (std::size_t i = 0; i < topic->partitions.size(); ++i) visit(topic->id, i, *topic->partitions[i]);
  }
}

}  // namespace

Outcome<protocol::BrokerRegistrationResponse> LocalController::register_broker(
    const protocol::BrokerRegistrationRequest& request, const ControllerState& state) const {
  Outcome<protocol::BrokerRegistrationResponse> outcome;
  const MetadataImage& image = state.image;
  if (const auto problem = registration_problem(request, image)) {
    outcome.response.error_code = to_wire(*problem);
    return outcome;
  }
  const NodeId node(request.broker_id);
  const BrokerImage* before = image.broker(node);
  outcome.response.broker_epoch = state.next_offset.value();
  outcome.records.add(registration_record(request, state.next_offset),
                      metadata::register_broker_record_version(image.metadata_version()));
  const bool clean = before == nullptr || before->epoch == BrokerEpoch(request.previous_broker_epoch) ||
                     before->incarnation_id == request.incarnation_id;
  if (clean) return outcome;
  const int16_t version = metadata::partition_change_record_version(image.metadata_version());
  for_each_partition(image, [&](const Uuid& topic, std::size_t index, const PartitionImage& partition) {
    if (partition.leader == node) outcome.records.add(election(topic, index, partition, node), version);
  });
  return outcome;
}

Outcome<protocol::BrokerHeartbeatResponse> LocalController::heartbeat(
    const protocol::BrokerHeartbeatRequest& request, const ControllerState& state) const {
  Outcome<protocol::BrokerHeartbeatResponse> outcome;
  const MetadataImage& image = state.image;
  const BrokerImage* broker = registration(image, request.broker_id, request.broker_epoch);
  if (broker == nullptr) {
    outcome.response.error_code = to_wire(ErrorCode::stale_broker_epoch);
    return outcome;
  }
  protocol::BrokerRegistrationChangeRecord change;
  change.broker_id = request.broker_id;
  change.broker_epoch = request.broker_epoch;
  const bool caught_up = request.current_metadata_offset >= request.broker_epoch;
  const bool fence = request.want_fence || request.want_shut_down;
  bool fenced = broker->fenced;
  if (fence && !fenced) {
    change.fenced = 1;
    fenced = true;
  } else if (!fence && fenced && caught_up) {
    change.fenced = -1;
    fenced = false;
  }
  if (change.fenced != 0) outcome.records.add(change, metadata::registration_change_record_version(change));
  if (change.fenced < 0) {
    const int16_t version = metadata::partition_change_record_version(image.metadata_version());
    for_each_partition(image, [&](const Uuid& topic, std::size_t index, const PartitionImage& partition) {
      if (partition.leader == metadata::no_node && may_lead(partition, broker->id))
        outcome.records.add(election(topic, index, partition, broker->id), version);
    });
  }
  outcome.response.is_caught_up = caught_up;
  outcome.response.is_fenced = fenced;
  outcome.response.should_shut_down = request.want_shut_down;
  return outcome;
}

Outcome<protocol::AllocateProducerIdsResponse> LocalController::allocate_producer_ids(
    const protocol::AllocateProducerIdsRequest& request, const ControllerState& state) const {
  Outcome<protocol::AllocateProducerIdsResponse> outcome;
  const int64_t start = state.image.next_producer_id;
  if (registration(state.image, request.broker_id, request.broker_epoch) == nullptr) {
    outcome.response.error_code = to_wire(ErrorCode::stale_broker_epoch);
  } else if (start > std::numeric_limits<int64_t>::max() - producer_id_block_size) {
    outcome.response.error_code = to_wire(ErrorCode::unknown_server_error);
  } else {
    protocol::ProducerIdsRecord record;
    record.broker_id = request.broker_id;
    record.broker_epoch = request.broker_epoch;
    record.next_producer_id = start + producer_id_block_size;
    outcome.records.add(record);
    outcome.response.producer_id_start = start;
    outcome.response.producer_id_len = producer_id_block_size;
  }
  return outcome;
}

Outcome<protocol::AssignReplicasToDirsResponse> LocalController::assign_replicas_to_dirs(
    const protocol::AssignReplicasToDirsRequest& request, const ControllerState& state) const {
  Outcome<protocol::AssignReplicasToDirsResponse> outcome;
  const MetadataImage& image = state.image;
  if (registration(image, request.broker_id, request.broker_epoch) == nullptr) {
    outcome.response.error_code = to_wire(ErrorCode::stale_broker_epoch);
    return outcome;
  }
  const NodeId node(request.broker_id);
  const int16_t version = metadata::partition_change_record_version(image.metadata_version());
  for (const auto& directory : request.directories) {
    auto& directory_answer = outcome.response.directories.emplace_back();
    directory_answer.id = directory.id;
    for (const auto& topic : directory.topics) {
      auto& topic_answer = directory_answer.topics.emplace_back();
      topic_answer.topic_id = topic.topic_id;
      const auto* known = image.topic(topic.topic_id);
      for (const auto& partition : topic.partitions) {
        auto& answer = topic_answer.partitions.emplace_back();
        answer.partition_index = partition.partition_index;
        const PartitionImage* present =
            known ? known->partition(PartitionIndex(partition.partition_index)) : nullptr;
        if (known == nullptr) {
          answer.error_code = to_wire(ErrorCode::unknown_topic_id);
        } else if (present == nullptr) {
          answer.error_code = to_wire(ErrorCode::unknown_topic_or_partition);
        } else if (!contains(present->replicas, node)) {
          answer.error_code = to_wire(ErrorCode::not_leader_or_follower);
        } else if (present->directory_of(node) != directory.id) {
          auto change = change_of(topic.topic_id, static_cast<std::size_t>(partition.partition_index));
          auto& directories = change.directories.emplace(present->directories);
          directories.resize(present->replicas.size(), metadata::directory_migrating);
          const auto at = std::ranges::find(present->replicas, node) - present->replicas.begin();
          directories[static_cast<std::size_t>(at)] = directory.id;
          outcome.records.add(change, version);
        }
      }
    }
  }
  return outcome;
}

}  // namespace barnabas::cluster
