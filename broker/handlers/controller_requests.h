#pragma once

#include <utility>

#include "broker/call.h"
#include "broker/handlers/forwarded.h"

namespace barnabas::broker {

/// ElectLeaders (43), v0–v2.
struct ElectLeadersHandler {
  using Request = protocol::ElectLeadersRequest;
  static void handle(Call call, Request request) {
    forward_if(Right::elect_leaders, std::move(call), std::move(request),
               &cluster::ControllerGateway::elect_leaders,
               [](protocol::ElectLeadersResponse& response, int16_t version) {
                 if (version == 0) response.error_code = 0;  // there is no place for it
               });
  }
};

/// AlterPartitionReassignments (45), v0–v1.
struct AlterPartitionReassignmentsHandler {
  using Request = protocol::AlterPartitionReassignmentsRequest;
  static void handle(Call call, Request request) {
    forward_if(Right::alter_reassignments, std::move(call), std::move(request),
               &cluster::ControllerGateway::alter_partition_reassignments);
  }
};

/// ListPartitionReassignments (46), v0.
struct ListPartitionReassignmentsHandler {
  using Request = protocol::ListPartitionReassignmentsRequest;
  static void handle(Call call, Request request) {
    forward_if(Right::list_reassignments, std::move(call), std::move(request),
               &cluster::ControllerGateway::list_partition_reassignments);
  }
};

/// DescribeQuorum (55), v0–v2. Directory ids and addresses came with v2.
struct DescribeQuorumHandler {
  using Request = protocol::DescribeQuorumRequest;
  static void handle(Call call, Request request) {
    forward_if(Right::describe_quorum, std::move(call), std::move(request),
               &cluster::ControllerGateway::describe_quorum,
               [](protocol::DescribeQuorumResponse& response, int16_t version) {
                 if (version < 2) leave_out_directories(response);
               });
  }

 private:
  static void leave_out_directories(protocol::DescribeQuorumResponse& response) {
    response.nodes.clear();
    for (auto& topic : response.topics) {
      for (auto& partition : topic.partitions) {
        for (auto& voter : partition.current_voters) voter.replica_directory_id = {};
        for (auto& observer : partition.observers) observer.replica_directory_id = {};
      }
    }
  }
};

/// UpdateFeatures (57), v0–v2. Before v2 each feature is answered too when all went well; v0's
/// allow_downgrade means nothing, as in Kafka: it knows upgrades only.
struct UpdateFeaturesHandler {
  using Request = protocol::UpdateFeaturesRequest;
  static void handle(Call call, Request request) {
    forward_if(Right::update_features, std::move(call), std::move(request),
               &cluster::ControllerGateway::update_features);
  }
};

/// AlterClientQuotas (49), v0–v1 (KIP-546).
struct AlterClientQuotasHandler {
  using Request = protocol::AlterClientQuotasRequest;
  static void handle(Call call, Request request) {
    forward_if(Right::alter_client_quotas, std::move(call), std::move(request),
               &cluster::ControllerGateway::alter_client_quotas);
  }
};

/// UnregisterBroker (64), v0.
struct UnregisterBrokerHandler {
  using Request = protocol::UnregisterBrokerRequest;
  static void handle(Call call, Request request) {
    forward_if(Right::unregister_broker, std::move(call), std::move(request),
               &cluster::ControllerGateway::unregister_broker);
  }
};

}  // namespace barnabas::broker
