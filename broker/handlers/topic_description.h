#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "broker/call.h"
#include "metadata/image.h"

namespace barnabas::broker {

/// What a user without restrictions may do, as the bit fields of answers say it: to the cluster, to a topic.
inline constexpr int32_t all_cluster_operations = 8096;
inline constexpr int32_t all_topic_operations = 3576;

/// Topics that belong to the broker itself.
bool is_internal_topic(std::string_view name);

std::vector<int32_t> numbers(const std::vector<NodeId>& nodes);

/// Replicas on brokers that are gone or fenced.
std::vector<int32_t> offline_replicas(const metadata::MetadataImage& image,
                                      const metadata::PartitionImage& partition);

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
