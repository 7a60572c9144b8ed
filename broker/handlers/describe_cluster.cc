#include "broker/handlers/describe_cluster.h"

#include "broker/handlers/topic_description.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;

constexpr int8_t brokers_endpoint = 1;
constexpr int8_t controllers_endpoint = 2;

protocol::DescribeClusterResponse refuse(ErrorCode error, std::string message) {
  protocol::DescribeClusterResponse response;
  response.error_code = to_wire(error);
  response.error_message = protocol::String(message);
  return response;
}

}  // namespace

protocol::DescribeClusterResponse DescribeClusterHandler::handle(Call& call, const Request& request) {
  if (call.version() >= 1 && request.endpoint_type == controllers_endpoint)
    return refuse(
        ErrorCode::mismatched_endpoint_type,
        "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER");
  if (call.version() >= 1 && request.endpoint_type != brokers_endpoint)
    return refuse(ErrorCode::unsupported_endpoint_type,
                  "Unsupported endpoint type " + std::to_string(request.endpoint_type));
  const auto image = call.services().metadata.current();
  protocol::DescribeClusterResponse response;
  response.cluster_id = protocol::String(call.services().cluster_id);
  response.controller_id = call.services().node.value();
  for (const BrokerAddress& address : broker_addresses(call, *image)) {
    auto& broker = response.brokers.emplace_back();
    broker.broker_id = address.id.value();
    broker.host = protocol::String(address.host);
    broker.port = address.port;
    if (address.broker->rack) broker.rack = protocol::String(*address.broker->rack);
  }
  if (request.include_cluster_authorized_operations)
    response.cluster_authorized_operations = cluster_operations(call.rights(), Right::describe_cluster);
  return response;
}

}  // namespace barnabas::broker
