#include "cluster/error_responses.h"

#include "cluster/api_error.h"

namespace barnabas::cluster {

using protocol::ErrorCode;
using protocol::to_wire;

protocol::CreateTopicsResponse error_response(const protocol::CreateTopicsRequest& request, ErrorCode code) {
  protocol::CreateTopicsResponse response;
  for (const auto& topic : request.topics) {
    auto& item = response.topics.emplace_back();
    item.name = topic.name.owned();
    set_error(item, ApiError::plain(code));
    item.configs.emplace();
  }
  return response;
}

protocol::DeleteTopicsResponse error_response(const protocol::DeleteTopicsRequest& request, ErrorCode code) {
  protocol::DeleteTopicsResponse response;
  for (const auto& name : request.topic_names) {
    auto& item = response.responses.emplace_back();
    item.name = name.owned();
    set_error(item, ApiError::plain(code));
  }
  for (const auto& topic : request.topics) {
    auto& item = response.responses.emplace_back();
    item.name.reset();
    if (topic.name) item.name = topic.name->owned();
    item.topic_id = topic.topic_id;
    set_error(item, ApiError::plain(code));
  }
  return response;
}

protocol::CreatePartitionsResponse error_response(const protocol::CreatePartitionsRequest& request, ErrorCode code) {
  protocol::CreatePartitionsResponse response;
  for (const auto& topic : request.topics) {
    auto& item = response.results.emplace_back();
    item.name = topic.name.owned();
    set_error(item, ApiError::plain(code));
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
    set_error(item, ApiError::plain(code));
  }
  return response;
}

protocol::IncrementalAlterConfigsResponse error_response(const protocol::IncrementalAlterConfigsRequest& request,
                                                         ErrorCode code) {
  return refused_resources<protocol::IncrementalAlterConfigsResponse>(request, code);
}

protocol::AlterConfigsResponse error_response(const protocol::AlterConfigsRequest& request, ErrorCode code) {
  return refused_resources<protocol::AlterConfigsResponse>(request, code);
}

protocol::AllocateProducerIdsResponse error_response(const protocol::AllocateProducerIdsRequest&, ErrorCode code) {
  protocol::AllocateProducerIdsResponse response;
  response.error_code = to_wire(code);
  return response;
}

protocol::BrokerRegistrationResponse error_response(const protocol::BrokerRegistrationRequest&, ErrorCode code) {
  protocol::BrokerRegistrationResponse response;
  response.error_code = to_wire(code);
  return response;
}

protocol::BrokerHeartbeatResponse error_response(const protocol::BrokerHeartbeatRequest&, ErrorCode code) {
  protocol::BrokerHeartbeatResponse response;
  response.error_code = to_wire(code);
  return response;
}

protocol::AssignReplicasToDirsResponse error_response(const protocol::AssignReplicasToDirsRequest&, ErrorCode code) {
  protocol::AssignReplicasToDirsResponse response;
  response.error_code = to_wire(code);
  return response;
}

}  // namespace barnabas::cluster
