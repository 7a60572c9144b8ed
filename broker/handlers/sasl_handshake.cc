#include "broker/handlers/sasl_handshake.h"

#include "protocol/error_code.h"

namespace barnabas::broker {

protocol::SaslHandshakeResponse SaslHandshakeHandler::handle(Call&, const Request&) {
  protocol::SaslHandshakeResponse response;
  response.error_code = to_wire(protocol::ErrorCode::illegal_sasl_state);
  return response;
}

}  // namespace barnabas::broker
