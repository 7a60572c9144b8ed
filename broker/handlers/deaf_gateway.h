#pragma once

#include <memory>
#include <utility>

#include "cluster/controller_gateway.h"
#include "cluster/delegation_token_requests.h"
#include "cluster/error_responses.h"

namespace barnabas::broker::testing {

/// A controller that cannot be asked. Tests replace what they watch.
class DeafGateway : public cluster::ControllerGateway {
 public:
  void create_topics(protocol::CreateTopicsRequest request, Done<protocol::CreateTopicsResponse> done,
                     std::shared_ptr<cluster::MutationQuota>) override {
    refuse(request, std::move(done));
  }
  void delete_topics(protocol::DeleteTopicsRequest request, Done<protocol::DeleteTopicsResponse> done,
                     std::shared_ptr<cluster::MutationQuota>) override {
    refuse(request, std::move(done));
  }
  void create_partitions(protocol::CreatePartitionsRequest request,
                         Done<protocol::CreatePartitionsResponse> done,
                         std::shared_ptr<cluster::MutationQuota>) override {
    refuse(request, std::move(done));
  }
  void incremental_alter_configs(protocol::IncrementalAlterConfigsRequest request,
                                 Done<protocol::IncrementalAlterConfigsResponse> done) override {
    refuse(request, std::move(done));
  }
  void alter_configs(protocol::AlterConfigsRequest request,
                     Done<protocol::AlterConfigsResponse> done) override {
    refuse(request, std::move(done));
  }
  void alter_client_quotas(protocol::AlterClientQuotasRequest request,
                           Done<protocol::AlterClientQuotasResponse> done) override {
    refuse(request, std::move(done));
  }
  void elect_leaders(protocol::ElectLeadersRequest request,
                     Done<protocol::ElectLeadersResponse> done) override {
    refuse(request, std::move(done));
  }
  void alter_partition_reassignments(protocol::AlterPartitionReassignmentsRequest request,
                                     Done<protocol::AlterPartitionReassignmentsResponse> done) override {
    refuse(request, std::move(done));
  }
  void list_partition_reassignments(protocol::ListPartitionReassignmentsRequest request,
                                    Done<protocol::ListPartitionReassignmentsResponse> done) override {
    refuse(request, std::move(done));
  }
  void update_features(protocol::UpdateFeaturesRequest request,
                       Done<protocol::UpdateFeaturesResponse> done) override {
    refuse(request, std::move(done));
  }
  void describe_quorum(protocol::DescribeQuorumRequest request,
                       Done<protocol::DescribeQuorumResponse> done) override {
    refuse(request, std::move(done));
  }
  void create_acls(protocol::CreateAclsRequest request, Done<protocol::CreateAclsResponse> done) override {
    refuse(request, std::move(done));
  }
  void delete_acls(protocol::DeleteAclsRequest request, Done<protocol::DeleteAclsResponse> done) override {
    refuse(request, std::move(done));
  }
  void unregister_broker(protocol::UnregisterBrokerRequest request,
                         Done<protocol::UnregisterBrokerResponse> done) override {
    refuse(request, std::move(done));
  }
  void alter_user_scram_credentials(protocol::AlterUserScramCredentialsRequest request,
                                    Done<protocol::AlterUserScramCredentialsResponse> done) override {
    refuse(request, std::move(done));
  }
  void create_delegation_token(cluster::CreateDelegationToken request,
                               Done<protocol::CreateDelegationTokenResponse> done) override {
    refuse(request, std::move(done));
  }
  void renew_delegation_token(cluster::RenewDelegationToken request,
                              Done<protocol::RenewDelegationTokenResponse> done) override {
    refuse(request, std::move(done));
  }
  void expire_delegation_token(cluster::ExpireDelegationToken request,
                               Done<protocol::ExpireDelegationTokenResponse> done) override {
    refuse(request, std::move(done));
  }
  void allocate_producer_ids(protocol::AllocateProducerIdsRequest request,
                             Done<protocol::AllocateProducerIdsResponse> done) override {
    refuse(request, std::move(done));
  }
  void register_broker(protocol::BrokerRegistrationRequest request,
                       Done<protocol::BrokerRegistrationResponse> done) override {
    refuse(request, std::move(done));
  }
  void assign_replicas_to_dirs(protocol::AssignReplicasToDirsRequest request,
                               Done<protocol::AssignReplicasToDirsResponse> done) override {
    refuse(request, std::move(done));
  }
  void heartbeat(protocol::BrokerHeartbeatRequest request,
                 Done<protocol::BrokerHeartbeatResponse> done) override {
    refuse(request, std::move(done));
  }

 private:
  template <class Request, class Response>
  static void refuse(const Request& request, Done<Response> done) {
    done(cluster::error_response(request, protocol::ErrorCode::broker_not_available));
  }
};

}  // namespace barnabas::broker::testing
