#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "cluster/mutation_quota.h"
#include "metadata/publisher.h"
#include "protocol/messages/allocate_producer_ids_request.h"
#include "protocol/messages/allocate_producer_ids_response.h"
#include "protocol/messages/alter_client_quotas_request.h"
#include "protocol/messages/alter_client_quotas_response.h"
#include "protocol/messages/alter_configs_request.h"
#include "protocol/messages/alter_configs_response.h"
#include "protocol/messages/alter_partition_reassignments_request.h"
#include "protocol/messages/alter_partition_reassignments_response.h"
#include "protocol/messages/assign_replicas_to_dirs_request.h"
#include "protocol/messages/assign_replicas_to_dirs_response.h"
#include "protocol/messages/broker_heartbeat_request.h"
#include "protocol/messages/broker_heartbeat_response.h"
#include "protocol/messages/broker_registration_request.h"
#include "protocol/messages/broker_registration_response.h"
#include "protocol/messages/create_acls_request.h"
#include "protocol/messages/create_acls_response.h"
#include "protocol/messages/create_partitions_request.h"
#include "protocol/messages/create_partitions_response.h"
#include "protocol/messages/create_topics_request.h"
#include "protocol/messages/create_topics_response.h"
#include "protocol/messages/delete_acls_request.h"
#include "protocol/messages/delete_acls_response.h"
#include "protocol/messages/delete_topics_request.h"
#include "protocol/messages/delete_topics_response.h"
#include "protocol/messages/describe_quorum_request.h"
#include "protocol/messages/describe_quorum_response.h"
#include "protocol/messages/elect_leaders_request.h"
#include "protocol/messages/elect_leaders_response.h"
#include "protocol/messages/incremental_alter_configs_request.h"
#include "protocol/messages/incremental_alter_configs_response.h"
#include "protocol/messages/list_partition_reassignments_request.h"
#include "protocol/messages/list_partition_reassignments_response.h"
#include "protocol/messages/unregister_broker_request.h"
#include "protocol/messages/unregister_broker_response.h"
#include "protocol/messages/update_features_request.h"
#include "protocol/messages/update_features_response.h"

namespace barnabas::protocol {
struct AlterUserScramCredentialsRequest;
struct AlterUserScramCredentialsResponse;
struct CreateDelegationTokenRequest;
struct CreateDelegationTokenResponse;
struct ExpireDelegationTokenRequest;
struct ExpireDelegationTokenResponse;
struct RenewDelegationTokenRequest;
struct RenewDelegationTokenResponse;
}  // namespace barnabas::protocol

namespace barnabas::cluster {

template <class Request>
struct TokenRequest;
using CreateDelegationToken = TokenRequest<protocol::CreateDelegationTokenRequest>;
using RenewDelegationToken = TokenRequest<protocol::RenewDelegationTokenRequest>;
using ExpireDelegationToken = TokenRequest<protocol::ExpireDelegationTokenRequest>;

/// Where proposals go: the one way of the broker to change the cluster's metadata. Speaks the request and
/// response structs of the real APIs whether the controller lives in this process or elsewhere.
///
/// Every call returns at once. `done` runs exactly once, on a thread of the gateway or on the caller's before
/// the call returns (it must not block; hand over to your own executor), after the change is on disk **and**
/// visible in ImagePublisher::current(). It always gets a whole response: when the controller cannot be
/// reached, its disk failed, it took longer than the request's timeout_ms, or the gateway is being closed,
/// each item of the response carries the error code. Throttle times are 0. Requests must own what they point
/// to: their views must stay valid until `done` runs. A quota is that of the client who asks; null: there is
/// none.
class ControllerGateway {
 public:
  template <class Response>
  using Done = std::move_only_function<void(Response)>;

  virtual ~ControllerGateway() = default;

  virtual void create_topics(protocol::CreateTopicsRequest request, Done<protocol::CreateTopicsResponse> done,
                             std::shared_ptr<MutationQuota> quota = nullptr) = 0;
  virtual void delete_topics(protocol::DeleteTopicsRequest request, Done<protocol::DeleteTopicsResponse> done,
                             std::shared_ptr<MutationQuota> quota = nullptr) = 0;
  virtual void create_partitions(protocol::CreatePartitionsRequest request,
                                 Done<protocol::CreatePartitionsResponse> done,
                                 std::shared_ptr<MutationQuota> quota = nullptr) = 0;
  /// Topics, brokers, groups and client metrics. What only the broker itself can check of its own settings it
  /// must have checked before.
  virtual void incremental_alter_configs(protocol::IncrementalAlterConfigsRequest request,
                                         Done<protocol::IncrementalAlterConfigsResponse> done) = 0;
  virtual void alter_configs(protocol::AlterConfigsRequest request,
                             Done<protocol::AlterConfigsResponse> done) = 0;
  virtual void alter_client_quotas(protocol::AlterClientQuotasRequest request,
                                   Done<protocol::AlterClientQuotasResponse> done) = 0;
  virtual void elect_leaders(protocol::ElectLeadersRequest request,
                             Done<protocol::ElectLeadersResponse> done) = 0;
  virtual void alter_partition_reassignments(protocol::AlterPartitionReassignmentsRequest request,
                                             Done<protocol::AlterPartitionReassignmentsResponse> done) = 0;
  virtual void list_partition_reassignments(protocol::ListPartitionReassignmentsRequest request,
                                            Done<protocol::ListPartitionReassignmentsResponse> done) = 0;
  virtual void update_features(protocol::UpdateFeaturesRequest request,
                               Done<protocol::UpdateFeaturesResponse> done) = 0;
  virtual void describe_quorum(protocol::DescribeQuorumRequest request,
                               Done<protocol::DescribeQuorumResponse> done) = 0;
  virtual void create_acls(protocol::CreateAclsRequest request, Done<protocol::CreateAclsResponse> done) = 0;
  virtual void delete_acls(protocol::DeleteAclsRequest request, Done<protocol::DeleteAclsResponse> done) = 0;
  virtual void unregister_broker(protocol::UnregisterBrokerRequest request,
                                 Done<protocol::UnregisterBrokerResponse> done) = 0;
  virtual void alter_user_scram_credentials(protocol::AlterUserScramCredentialsRequest request,
                                            Done<protocol::AlterUserScramCredentialsResponse> done) = 0;
  /// Tokens: cluster/delegation_token_requests.h. Whether the requester may ask at all is the broker's to
  /// know.
  virtual void create_delegation_token(CreateDelegationToken request,
                                       Done<protocol::CreateDelegationTokenResponse> done) = 0;
  virtual void renew_delegation_token(RenewDelegationToken request,
                                      Done<protocol::RenewDelegationTokenResponse> done) = 0;
  virtual void expire_delegation_token(ExpireDelegationToken request,
                                       Done<protocol::ExpireDelegationTokenResponse> done) = 0;
  virtual void allocate_producer_ids(protocol::AllocateProducerIdsRequest request,
                                     Done<protocol::AllocateProducerIdsResponse> done) = 0;
  virtual void register_broker(protocol::BrokerRegistrationRequest request,
                               Done<protocol::BrokerRegistrationResponse> done) = 0;
  virtual void assign_replicas_to_dirs(protocol::AssignReplicasToDirsRequest request,
                                       Done<protocol::AssignReplicasToDirsResponse> done) = 0;
  virtual void heartbeat(protocol::BrokerHeartbeatRequest request,
                         Done<protocol::BrokerHeartbeatResponse> done) = 0;
};

}  // namespace barnabas::cluster
