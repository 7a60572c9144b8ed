#include "broker/handlers/topic_description.h"

#include <algorithm>

namespace barnabas::broker {

bool is_internal_topic(std::string_view name) {
  return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state";
}

int32_t cluster_operations(const Rights& rights, Right describe) {
  if (!rights.may(describe)) return 0;
  return rights.operations(metadata::AclResourceType::cluster, metadata::cluster_resource_name);
}

std::vector<int32_t> numbers(const std::vector<NodeId>& nodes) {
  std::vector<int32_t> result;
  result.reserve(nodes.size());
  for (const NodeId node : nodes) result.push_back(node.value());
  return result;
}

std::vector<int32_t> offline_replicas(const metadata::MetadataImage& image,
                                      const metadata::PartitionImage& partition) {
  std::vector<int32_t> result;
  for (const NodeId node : partition.replicas) {
    const metadata::BrokerImage* broker = image.broker(node);
    if (broker == nullptr || broker->fenced) result.push_back(node.value());
  }
  return result;
}

std::vector<BrokerAddress> broker_addresses(const Call& call, const metadata::MetadataImage& image) {
  std::vector<BrokerAddress> addresses;
  const std::string& listener = call.connection().listener;
  const Services& services = call.services();
  for (const auto& [id, broker] : image.brokers) {
    if (broker->fenced) continue;
    if (id == services.node) {
      // What this process advertises, also while the metadata still show an earlier incarnation.
      const auto own = std::ranges::find(services.listeners, listener, &AdvertisedListener::listener);
      if (own != services.listeners.end()) addresses.push_back({id, own->host, own->port, broker.get()});
      continue;
    }
    const auto endpoint = std::ranges::find(broker->endpoints, listener, &metadata::BrokerEndpoint::listener);
    if (endpoint != broker->endpoints.end())
      addresses.push_back({id, endpoint->host, endpoint->port, broker.get()});
  }
  return addresses;
}

}  // namespace barnabas::broker
