#pragma once

#include "cluster/controller_gateway.h"
#include "protocol/error_code.h"
#include "protocol/messages/alter_user_scram_credentials_request.h"
#include "protocol/messages/alter_user_scram_credentials_response.h"

/// Responses that refuse a whole request, each item with the same code: for a controller that cannot be
/// asked.
namespace barnabas::cluster {

protocol::CreateTopicsResponse error_response(const protocol::CreateTopicsRequest& request,
                                              protocol::ErrorCode code);
protocol::DeleteTopicsResponse error_response(const protocol::DeleteTopicsRequest& request,
                                              protocol::ErrorCode code);
protocol::CreatePartitionsResponse error_response(const protocol::CreatePartitionsRequest& request,
                                                  protocol::ErrorCode code);
protocol::IncrementalAlterConfigsResponse error_response(
    const protocol::IncrementalAlterConfigsRequest& request, protocol::ErrorCode code);
protocol::AlterConfigsResponse error_response(const protocol::AlterConfigsRequest& request,
                                              protocol::ErrorCode code);
protocol::AlterClientQuotasResponse error_response(const protocol::AlterClientQuotasRequest& request,
                                                   protocol::ErrorCode code);
protocol::ElectLeadersResponse error_response(const protocol::ElectLeadersRequest& request,
                                              protocol::ErrorCode code);
protocol::AlterPartitionReassignmentsResponse error_response(
    const protocol::AlterPartitionReassignmentsRequest& request, protocol::ErrorCode code);
protocol::ListPartitionReassignmentsResponse error_response(
    const protocol::ListPartitionReassignmentsRequest& request, protocol::ErrorCode code);
protocol::UpdateFeaturesResponse error_response(const protocol::UpdateFeaturesRequest& request,
                                                protocol::ErrorCode code);
protocol::DescribeQuorumResponse error_response(const protocol::DescribeQuorumRequest& request,
                                                protocol::ErrorCode code);
protocol::CreateAclsResponse error_response(const protocol::CreateAclsRequest& request,
                                            protocol::ErrorCode code);
protocol::DeleteAclsResponse error_response(const protocol::DeleteAclsRequest& request,
                                            protocol::ErrorCode code);
protocol::UnregisterBrokerResponse error_response(const protocol::UnregisterBrokerRequest& request,
                                                  protocol::ErrorCode code);
protocol::AlterUserScramCredentialsResponse error_response(
    const protocol::AlterUserScramCredentialsRequest& request, protocol::ErrorCode code);
protocol::AllocateProducerIdsResponse error_response(const protocol::AllocateProducerIdsRequest& request,
                                                     protocol::ErrorCode code);
protocol::BrokerRegistrationResponse error_response(const protocol::BrokerRegistrationRequest& request,
                                                    protocol::ErrorCode code);
protocol::BrokerHeartbeatResponse error_response(const protocol::BrokerHeartbeatRequest& request,
                                                 protocol::ErrorCode code);
protocol::AssignReplicasToDirsResponse error_response(const protocol::AssignReplicasToDirsRequest& request,
                                                      protocol::ErrorCode code);

}  // namespace barnabas::cluster
