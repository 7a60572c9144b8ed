#include "cluster/broker_lifecycle.h"

#include <future>
#include <utility>

#include "cluster/local_quorum.h"
#include "protocol/error_code.h"

namespace barnabas::cluster {
namespace {

std::string reason(int16_t error) {
  const auto code = protocol::error_code(error);
  if (!code) return "error " + std::to_string(error);
  return std::string(protocol::name(*code)) + ": " + std::string(protocol::default_message(*code));
}

}  // namespace

BrokerLifecycle::BrokerLifecycle(ControllerGateway& gateway, const metadata::ImagePublisher& publisher,
                                 BrokerIdentity identity)
    : gateway_(gateway), publisher_(publisher), identity_(std::move(identity)) {}

Result<BrokerEpoch> BrokerLifecycle::register_broker() {
  protocol::BrokerRegistrationRequest request;
  request.broker_id = identity_.node_id.value();
  request.cluster_id = identity_.cluster_id;
  request.incarnation_id = incarnation_id_;
  for (const auto& endpoint : identity_.endpoints) {
    auto& listener = request.listeners.emplace_back();
    listener.name = endpoint.listener;
    listener.host = endpoint.host;
    listener.port = endpoint.port;
    listener.security_protocol = endpoint.security_protocol;
  }
  for (const auto& [name, range] : supported_features()) {
    auto& feature = request.features.emplace_back();
    feature.name = name;
    feature.min_supported_version = range.min;
    feature.max_supported_version = range.max;
  }
  request.rack.reset();
  if (identity_.rack) request.rack = protocol::String(*identity_.rack);
  request.log_dirs = identity_.log_dirs;
  request.previous_broker_epoch = identity_.previous_epoch.value();

  std::promise<protocol::BrokerRegistrationResponse> answered;
  auto answer = answered.get_future();
  gateway_.register_broker(std::move(request),
                           [&answered](auto response) { answered.set_value(std::move(response)); });
  const auto response = answer.get();
  if (response.error_code != 0)
    return fail(ErrorKind::invalid, "the controller refused to register broker " +
                                        std::to_string(identity_.node_id.value()) + ": " +
                                        reason(response.error_code));
  epoch_ = BrokerEpoch(response.broker_epoch);
  return epoch_;
}

Result<protocol::BrokerHeartbeatResponse> BrokerLifecycle::heartbeat(bool want_shut_down) {
  protocol::BrokerHeartbeatRequest request;
  request.broker_id = identity_.node_id.value();
  request.broker_epoch = epoch_.value();
  request.current_metadata_offset = publisher_.current()->position.offset.value();
  request.want_fence = false;
  request.want_shut_down = want_shut_down;
  std::promise<protocol::BrokerHeartbeatResponse> answered;
  auto answer = answered.get_future();
  gateway_.heartbeat(std::move(request),
                     [&answered](auto response) { answered.set_value(std::move(response)); });
  auto response = answer.get();
  if (response.error_code != 0)
    return fail(ErrorKind::invalid, "the controller refused a heartbeat: " + reason(response.error_code));
  return response;
}

Result<void> BrokerLifecycle::unfence() {
  BARNABAS_ASSIGN(const auto response, heartbeat(false));
  if (response.is_fenced) return fail(ErrorKind::invalid, "the controller keeps this broker fenced");
  return {};
}

Result<void> BrokerLifecycle::shut_down() {
  BARNABAS_ASSIGN(const auto response, heartbeat(true));
  if (!response.should_shut_down)
    return fail(ErrorKind::timed_out, "the controller wants this broker to go on");
  return {};
}

}  // namespace barnabas::cluster
