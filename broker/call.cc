#include "broker/call.h"

#include <algorithm>

#include "broker/quotas/quotas.h"
#include "broker/quotas/request_time.h"

namespace barnabas::broker {

void Call::write_header(protocol::Writer& writer, int16_t version) const {
  writer.int32(correlation_id_);
  if (protocol::api_info(api_).response_header_version(version) >= 1) writer.uvarint(0);  // no tagged fields
}

void Call::throttle(std::chrono::milliseconds wait) {
  throttle_time_ms_ = std::max(throttle_time_ms_, throttle_ms(wait));
}

void Call::charge_time() {
  if (!quota_client_ || std::exchange(time_charged_, true)) return;
  Quotas& quotas = *services_->quotas;
  const Instant now = std::chrono::steady_clock::now();
  const double used = percent_of_thread(RequestTime::take(*quota_client_, now));
  // A request from one broker to another; nobody's client is to pay for it.
  if (api_ == protocol::ApiKey::write_txn_markers) return;
  throttle(quotas.record(RateKind::request, *quota_client_, used, now));
}

void Call::no_reply() {
  // Whoever gets no answer cannot be told that he uses too much time, so none is counted.
  if (quota_client_) (void)RequestTime::take(*quota_client_, std::chrono::steady_clock::now());
  incoming_.slot.no_reply({.mute_for = std::chrono::milliseconds(throttle_time_ms_)});
}

Rights Call::rights_of(const Services& services, const network::ConnectionContext& connection,
                       protocol::ApiKey api) {
  if (services.authorizer == nullptr) return {};
  return {*services.authorizer,
          {connection.principal.to_string(), connection.peer_address, protocol::name(api)}};
}

void Call::send(protocol::Writer writer) {
  auto written = writer.take();
  if (!written)
    return incoming_.slot.close("answer to " + std::string(protocol::name(api_)) + " v" +
                                std::to_string(version_) + " cannot be encoded: " + written.error().message);
  incoming_.slot.reply(network::outgoing_frame(std::move(*written)),
                       {.mute_for = std::chrono::milliseconds(throttle_time_ms_)});
}

}  // namespace barnabas::broker
