#include "broker/dispatcher.h"

#include "broker/handlers/fetch_operation.h"
#include "broker/handlers/handlers.h"
#include "protocol/messages/request_header.h"

namespace barnabas::broker {

void Dispatcher::start(network::IncomingRequest request) {
  const ByteView bytes = request.frame.bytes();
  protocol::Reader peek(bytes);
  const int16_t key = peek.int16();
  const int16_t version = peek.int16();
  if (!peek.ok())
    return request.slot.close("frame of " + std::to_string(bytes.size()) + " bytes holds no request header");

  const auto api = protocol::api_key(key);
  const HandlerEntry* handler = api ? find_handler(*api) : nullptr;
  const auto what = [&] {
    return (api ? std::string(protocol::name(*api)) : "API key " + std::to_string(key)) + " v" +
           std::to_string(version);
  };
  if (handler == nullptr) return request.slot.close(what() + " is not served");
  const bool answers_any_version = *api == protocol::ApiKey::api_versions;
  if ((version < handler->min_version || version > handler->max_version) && !answers_any_version)
    return request.slot.close(what() + " is not served; versions " + std::to_string(handler->min_version) +
                              " to " + std::to_string(handler->max_version) + " are");

  protocol::Reader reader(bytes);
  auto header =
      protocol::RequestHeader::decode(reader, protocol::api_info(*api).request_header_version(version));
  if (!header) return request.slot.close(what() + " with a malformed header: " + header.error().message);
  handler->run(Call(services_, std::move(request), *api, version, header->correlation_id,
                    header->client_id.value_or(protocol::String())),
               reader);
}

void Dispatcher::connection_closed(network::ConnectionContext& connection) {
  cancel_waiting_fetch(connection);
}

}  // namespace barnabas::broker
