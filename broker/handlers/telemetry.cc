#include "broker/handlers/telemetry.h"

#include <array>

#include "broker/telemetry/client_telemetry.h"
#include "protocol/compression/codec.h"

namespace barnabas::broker {
namespace {

using protocol::Codec;
using protocol::ErrorCode;

/// The one that is liked best first: clients take it if they can.
constexpr std::array accepted_codecs{Codec::zstd, Codec::lz4, Codec::gzip, Codec::snappy};

TelemetryClient client_of(const Call& call) {
  const network::ConnectionContext& connection = call.connection();
  return {std::string(call.client_id()), connection.client_software_name, connection.client_software_version,
          connection.peer_address, connection.peer_port};
}

}  // namespace

protocol::GetTelemetrySubscriptionsResponse GetTelemetrySubscriptionsHandler::handle(Call& call,
                                                                                     const Request& request) {
  ClientTelemetry& telemetry = call.services().telemetry;
  const auto subscription =
      telemetry.subscribe(request.client_instance_id, client_of(call), call.connection().id,
                          call.services().metadata.current(), std::chrono::steady_clock::now());
  protocol::GetTelemetrySubscriptionsResponse response;
  response.error_code = to_wire(subscription.error);
  if (subscription.error != ErrorCode::none) return response;
  response.client_instance_id = subscription.instance;
  response.subscription_id = subscription.id;
  for (const Codec codec : accepted_codecs)
    response.accepted_compression_types.push_back(static_cast<int8_t>(codec));
  response.push_interval_ms = subscription.wish.interval_ms;
  response.telemetry_max_bytes = telemetry.push_bytes_max();
  response.delta_temporality = true;
  for (const std::string& metric : subscription.wish.metrics)
    response.requested_metrics.emplace_back(protocol::String(metric));
  return response;
}

protocol::PushTelemetryResponse PushTelemetryHandler::handle(Call& call, const Request& request) {
  ClientTelemetry::Push push;
  push.instance = request.client_instance_id;
  push.subscription_id = request.subscription_id;
  push.terminating = request.terminating;
  push.compression = request.compression_type;
  push.metrics = request.metrics;
  protocol::PushTelemetryResponse response;
  response.error_code = to_wire(call.services().telemetry.push(push, client_of(call), call.connection().id,
                                                               call.services().metadata.current(),
                                                               std::chrono::steady_clock::now()));
  return response;
}

}  // namespace barnabas::broker
