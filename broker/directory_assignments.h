#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/types.h"
#include "base/uuid.h"
#include "cluster/controller_gateway.h"
#include "metadata/publisher.h"
#include "protocol/error_code.h"

namespace barnabas::broker {

/// Tells the controller in which of this broker's directories a partition lies (AssignReplicasToDirs,
/// KIP-858). What comes while a request is under way goes with the next one. Any thread.
class DirectoryAssignments {
 public:
  /// On a thread of the gateway; must not block.
  using Done = std::move_only_function<void(protocol::ErrorCode)>;

  /// ControllerGateway::assign_replicas_to_dirs.
  using Ask = std::function<void(protocol::AssignReplicasToDirsRequest,
                                 cluster::ControllerGateway::Done<protocol::AssignReplicasToDirsResponse>)>;

  /// `metadata` must outlive it; the gateway must be closed before it goes.
  DirectoryAssignments(NodeId node, Ask ask, const metadata::ImagePublisher& metadata)
      : node_(node), ask_(std::move(ask)), metadata_(metadata) {}

  /// The broker is registered: what was asked for before goes out.
  void begin();
  /// `done` runs once the assignment is on the controller's disk; it may be empty.
  void assign(const Uuid& topic_id, PartitionIndex partition, const Uuid& directory_id, Done done = {});

 private:
  struct Item {
    Uuid topic_id;
    PartitionIndex partition;
    Uuid directory_id;
    Done done;
  };
  /// More in one request would make one large metadata transaction.
  static constexpr std::size_t items_per_request_max = 2000;

  void send_next();
  protocol::AssignReplicasToDirsRequest request_for(const std::vector<Item>& items) const;
  void arrived(std::vector<Item> items, const protocol::AssignReplicasToDirsResponse& response);

  const NodeId node_;
  const Ask ask_;
  const metadata::ImagePublisher& metadata_;

  std::mutex mutex_;
  bool begun_ = false;
  bool under_way_ = false;
  std::vector<Item> waiting_;
};

}  // namespace barnabas::broker
