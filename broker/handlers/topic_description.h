#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "broker/call.h"
#include "metadata/image.h"
#include "protocol/error_code.h"

namespace barnabas::broker {

/// For answers about groups: what may be done with those that are there.
template <class Group>
void add_operations(std::vector<Group>& groups, const Rights& rights) {
  for (Group& group : groups)
    if (group.error_code == to_wire(protocol::ErrorCode::none))
      group.authorized_operations = rights.operations(metadata::AclResourceType::group, group.group_id);
}

/// For answers about the cluster: nothing, for those who may not even look at it.
int32_t cluster_operations(const Rights& rights, Right describe);

/// Topics that belong to the broker itself.
bool is_internal_topic(std::string_view name);

std::vector<int32_t> numbers(const std::vector<NodeId>& nodes);

/// Replicas on brokers that are gone or fenced.
std::vector<int32_t> offline_replicas(const metadata::MetadataImage& image,
                                      const metadata::PartitionImage& partition);

/// What Metadata and DescribeTopicPartitions both tell about a partition.
template <class Described>
void describe_partition(const metadata::MetadataImage& image, const metadata::PartitionImage& partition,
                        int32_t index, Described& described) {
  described.partition_index = index;
  described.leader_id = partition.leader.value();
  described.leader_epoch = partition.leader_epoch.value();
  described.replica_nodes = numbers(partition.replicas);
  described.isr_nodes = numbers(partition.isr);
  described.offline_replicas = offline_replicas(image, partition);
  if (partition.leader == metadata::no_node)
    described.error_code = to_wire(protocol::ErrorCode::leader_not_available);
}

/// Address of a broker as seen from the listener on which the request came.
struct BrokerAddress {
  NodeId id;
  std::string_view host;
  uint16_t port = 0;
  const metadata::BrokerImage* broker = nullptr;
};

/// Every live broker that has the request's listener, by id. Valid while services and image live.
std::vector<BrokerAddress> broker_addresses(const Call& call, const metadata::MetadataImage& image);

}  // namespace barnabas::broker
