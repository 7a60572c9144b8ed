#include "cluster/error_responses.h"

#include <set>

#include "cluster/api_error.h"

namespace barnabas::cluster {

using protocol::ErrorCode;
using protocol::to_wire;

namespace {

/// Kafka says of a request that took too long no more than its code.
ApiError refusal(ErrorCode code) {
  return code == ErrorCode::request_timed_out ? ApiError{code, std::nullopt} : ApiError::plain(code);
}

}  // namespace

protocol::CreateTopicsResponse error_response(const protocol::CreateTopicsRequest& request, ErrorCode code) {
  protocol::CreateTopicsResponse response;
  for (const auto& topic : request.topics) {
    auto& item = response.topics.emplace_back();
    item.name = topic.name.owned();
    set_error(item, refusal(code));
    item.configs.emplace();
  }
  return response;
}

protocol::DeleteTopicsResponse error_response(const protocol::DeleteTopicsRequest& request, ErrorCode code) {
  protocol::DeleteTopicsResponse response;
  for (const auto& name : request.topic_names) {
    auto& item = response.responses.emplace_back();
    item.name = name.owned();
    set_error(item, refusal(code));
  }
  for (const auto& topic : request.topics) {
    auto& item = response.responses.emplace_back();
    item.name.reset();
    if (topic.name) item.name = topic.name->owned();
    item.topic_id = topic.topic_id;
    set_error(item, refusal(code));
  }
  return response;
}

protocol::CreatePartitionsResponse error_response(const protocol::CreatePartitionsRequest& request,
                                                  ErrorCode code) {
  protocol::CreatePartitionsResponse response;
  for (const auto& topic : request.topics) {
    auto& item = response.results.emplace_back();
    item.name = topic.name.owned();
    set_error(item, refusal(code));
  }
  return response;
}

template <class Response, class Request>
static Response refused_resources(const Request& request, ErrorCode code) {
  Response response;
  for (const auto& resource : request.resources) {
    auto& item = response.responses.emplace_back();
    item.resource_type = resource.resource_type;
    item.resource_name = resource.resource_name.owned();
    set_error(item, refusal(code));
  }
  return response;
}

protocol::IncrementalAlterConfigsResponse error_response(
    const protocol::IncrementalAlterConfigsRequest& request, ErrorCode code) {
  return refused_resources<protocol::IncrementalAlterConfigsResponse>(request, code);
}

protocol::AlterConfigsResponse error_response(const protocol::AlterConfigsRequest& request, ErrorCode code) {
  return refused_resources<protocol::AlterConfigsResponse>(request, code);
}

protocol::ElectLeadersResponse error_response(const protocol::ElectLeadersRequest& request, ErrorCode code) {
  protocol::ElectLeadersResponse response;
  response.error_code = to_wire(code);
  if (!request.topic_partitions) return response;
  for (const auto& topic : *request.topic_partitions) {
    auto& item = response.replica_election_results.emplace_back();
    item.topic = topic.topic.owned();
    for (const int32_t partition : topic.partitions) {
      auto& result = item.partition_result.emplace_back();
      result.partition_id = partition;
      set_error(result, refusal(code));
    }
  }
  return response;
}

protocol::AlterPartitionReassignmentsResponse error_response(
    const protocol::AlterPartitionReassignmentsRequest& request, ErrorCode code) {
  protocol::AlterPartitionReassignmentsResponse response;
  set_error(response, refusal(code));
  for (const auto& topic : request.topics) {
    auto& item = response.responses.emplace_back();
    item.name = topic.name.owned();
    for (const auto& partition : topic.partitions) {
      auto& result = item.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      set_error(result, refusal(code));
    }
  }
  return response;
}

protocol::ListPartitionReassignmentsResponse error_response(
    const protocol::ListPartitionReassignmentsRequest& request, ErrorCode code) {
  protocol::ListPartitionReassignmentsResponse response;
  set_error(response, refusal(code));
  if (!request.topics) return response;
  for (const auto& topic : *request.topics) {
    auto& item = response.topics.emplace_back();
    item.name = topic.name.owned();
    for (const int32_t partition : topic.partition_indexes)
      item.partitions.emplace_back().partition_index = partition;
  }
  return response;
}

protocol::AlterClientQuotasResponse error_response(const protocol::AlterClientQuotasRequest& request,
                                                   ErrorCode code) {
  protocol::AlterClientQuotasResponse response;
  for (const auto& entry : request.entries) {
    auto& item = response.entries.emplace_back();
    set_error(item, refusal(code));
    for (const auto& part : entry.entity) {
      auto& named = item.entity.emplace_back();
      named.entity_type = part.entity_type.owned();
      named.entity_name.reset();
      if (part.entity_name) named.entity_name = part.entity_name->owned();
    }
  }
  return response;
}

protocol::UpdateFeaturesResponse error_response(const protocol::UpdateFeaturesRequest&, ErrorCode code) {
  protocol::UpdateFeaturesResponse response;
  set_error(response, refusal(code));
  return response;
}

protocol::DescribeQuorumResponse error_response(const protocol::DescribeQuorumRequest&, ErrorCode code) {
  protocol::DescribeQuorumResponse response;
  set_error(response, refusal(code));
  return response;
}

protocol::CreateAclsResponse error_response(const protocol::CreateAclsRequest& request, ErrorCode code) {
  protocol::CreateAclsResponse response;
  for (std::size_t i = 0; i < request.creations.size(); ++i)
    set_error(response.results.emplace_back(), refusal(code));
  return response;
}

protocol::DeleteAclsResponse error_response(const protocol::DeleteAclsRequest& request, ErrorCode code) {
  protocol::DeleteAclsResponse response;
  for (std::size_t i = 0; i < request.filters.size(); ++i)
    set_error(response.filter_results.emplace_back(), refusal(code));
  return response;
}

protocol::UnregisterBrokerResponse error_response(const protocol::UnregisterBrokerRequest&, ErrorCode code) {
  protocol::UnregisterBrokerResponse response;
  set_error(response, refusal(code));
  return response;
}

protocol::AlterUserScramCredentialsResponse error_response(
    const protocol::AlterUserScramCredentialsRequest& request, ErrorCode code) {
  protocol::AlterUserScramCredentialsResponse response;
  std::set<std::string_view> users;
  for (const auto& deletion : request.deletions) users.insert(deletion.name.view());
  for (const auto& upsertion : request.upsertions) users.insert(upsertion.name.view());
  for (const std::string_view user : users) {
    auto& result = response.results.emplace_back();
    result.user = protocol::String(user);
    set_error(result, refusal(code));
  }
  return response;
}

protocol::AllocateProducerIdsResponse error_response(const protocol::AllocateProducerIdsRequest&,
                                                     ErrorCode code) {
  protocol::AllocateProducerIdsResponse response;
  response.error_code = to_wire(code);
  return response;
}

protocol::BrokerRegistrationResponse error_response(const protocol::BrokerRegistrationRequest&,
                                                    ErrorCode code) {
  protocol::BrokerRegistrationResponse response;
  response.error_code = to_wire(code);
  return response;
}

protocol::BrokerHeartbeatResponse error_response(const protocol::BrokerHeartbeatRequest&, ErrorCode code) {
  protocol::BrokerHeartbeatResponse response;
  response.error_code = to_wire(code);
  return response;
}

protocol::AssignReplicasToDirsResponse error_response(const protocol::AssignReplicasToDirsRequest&,
                                                      ErrorCode code) {
  protocol::AssignReplicasToDirsResponse response;
  response.error_code = to_wire(code);
  return response;
}

}  // namespace barnabas::cluster
