#include "broker/dispatcher.h"

#include "broker/authentication.h"
#include "broker/handlers/fetch_operation.h"
#include "broker/handlers/handlers.h"
#include "broker/quotas/request_time.h"
#include "broker/telemetry/client_telemetry.h"
#include "protocol/messages/request_header.h"

namespace barnabas::broker {

namespace {

/// What a request says of itself, for the log line of one that is refused: whatever of its header can be
/// read.
std::string describe(ByteView frame) {
  protocol::Reader reader(frame);
  const int16_t key = reader.int16();
  const int16_t version = reader.int16();
  const int32_t correlation_id = reader.int32();
  const int16_t client_id_bytes = reader.int16();
  const auto api = protocol::api_key(key);
  std::string text = (api ? std::string(protocol::name(*api)) + " (" + std::to_string(key) + ")"
                          : "API key " + std::to_string(key)) +
                     " v" + std::to_string(version) + " correlation_id=" + std::to_string(correlation_id);
  if (reader.ok() && client_id_bytes > 0 && static_cast<std::size_t>(client_id_bytes) <= reader.remaining())
    text += " client_id=" +
            log_text(as_text(frame.subspan(reader.position(), static_cast<std::size_t>(client_id_bytes))));
  return text;
}

/// The handler of a request's API, if it can take the request's version. ApiVersions takes any (KIP-511).
const HandlerEntry* handler_of(int16_t key, int16_t version) {
  const auto api = protocol::api_key(key);
  const HandlerEntry* handler = api ? find_handler(*api) : nullptr;
  if (handler == nullptr) return nullptr;
  const bool known = version >= handler->min_version && version <= handler->max_version;
  return known || handler->api == protocol::ApiKey::api_versions ? handler : nullptr;
}

/// Who pays for a request; null for a peer that has yet to say who it is.
std::shared_ptr<const QuotaClient> quota_client(const network::ConnectionContext& connection,
                                                std::string_view client_id) {
  if (!connection.admitted) return nullptr;
  return std::make_shared<const QuotaClient>(connection.principal.name, std::string(client_id));
}

}  // namespace

void Dispatcher::start(network::IncomingRequest request) {
  // First of all: what comes from a peer that has yet to say who it is must not be seen by anybody else.
  if (security::authenticates_by_sasl(request.connection->security_protocol)) {
    if (services_.authentication == nullptr) return request.slot.close("this listener cannot authenticate");
    if (services_.authentication->take(request)) return;
  }
  const ByteView bytes = request.frame.bytes();
  protocol::Reader peek(bytes);
  const int16_t key = peek.int16();
  const int16_t version = peek.int16();
  const int32_t correlation_id = peek.int32();
  if (!peek.ok())
    return request.slot.close("frame of " + std::to_string(bytes.size()) + " bytes holds no request header");
  const HandlerEntry* handler = handler_of(key, version);
  if (handler == nullptr) return request.slot.close(describe(bytes) + " is not served");
  if (version < handler->min_version || version > handler->max_version)
    // Nobody can know how the rest of such an ApiVersions request looks; its beginning is enough for the
    // answer.
    return handler->run(Call(services_, std::move(request), handler->api, version, correlation_id, {}), peek);

  protocol::Reader reader(bytes);
  auto header = protocol::RequestHeader::decode(
      reader, protocol::api_info(handler->api).request_header_version(version));
  if (!header) return request.slot.close(describe(bytes) + ": malformed header: " + header.error().message);
  const protocol::String client_id = header->client_id.value_or(protocol::String());
  if (services_.quotas != nullptr && services_.quotas->any()) {
    const auto connection = request.connection;
    const auto payer = quota_client(*connection, client_id);
    const RequestTime time(services_.quotas, payer, *connection);
    Call call(services_, std::move(request), handler->api, version, correlation_id, client_id);
    call.set_quota_client(payer);
    return handler->run(std::move(call), reader);
  }
  handler->run(Call(services_, std::move(request), handler->api, version, correlation_id, client_id), reader);
}

bool Dispatcher::measures_time() const {
  return services_.quotas != nullptr && services_.quotas->limits(RateKind::request);
}

void Dispatcher::connection_closed(network::ConnectionContext& connection) {
  if (services_.quotas != nullptr) RequestTime::settle(*services_.quotas, connection);
  cancel_waiting_fetch(connection);
  services_.telemetry.connection_closed(connection.id);
  Authentication::connection_closed(connection);
}

void Dispatcher::end_waiting(network::ConnectionContext& connection) {
  Authentication::end_waiting(connection);
  auto* waiting = std::any_cast<std::weak_ptr<FetchOperation>>(&connection.broker_state);
  if (waiting == nullptr) return;
  if (const auto operation = waiting->lock()) operation->hurry();
}

}  // namespace barnabas::broker
