#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/types.h"
#include "cluster/controller_gateway.h"
#include "metadata/publisher.h"
#include "protocol/error_code.h"

namespace barnabas::broker {

/// Hands out producer ids from blocks that the controller allocates, each id once in the life of the cluster.
/// The next block is fetched when the current one is used up; callers that come meanwhile wait for it.
/// Thread-safe.
class ProducerIds {
 public:
  /// Either an id, or an error of the controller.
  using Done = std::move_only_function<void(ProducerId, protocol::ErrorCode)>;

  /// References must outlive it.
  ProducerIds(NodeId node, cluster::ControllerGateway& controller, const metadata::ImagePublisher& metadata)
      : node_(node), controller_(controller), metadata_(metadata) {}

  /// `done` runs inside this call when an id is at hand, else on a thread of the gateway.
  void next(Done done);

 private:
  void request_block();
  void block_arrived(const protocol::AllocateProducerIdsResponse& response);

  const NodeId node_;
  cluster::ControllerGateway& controller_;
  const metadata::ImagePublisher& metadata_;
  std::mutex mutex_;
  int64_t next_ = 0;
  int64_t end_ = 0;
  bool requested_ = false;
  std::vector<Done> waiting_;
};

}  // namespace barnabas::broker
