#include "broker/handlers/sasl_authenticate.h"

#include "protocol/error_code.h"

namespace barnabas::broker {

protocol::SaslAuthenticateResponse SaslAuthenticateHandler::handle(Call&, const Request&) {
  protocol::SaslAuthenticateResponse response;
  response.error_code = to_wire(protocol::ErrorCode::illegal_sasl_state);
  response.error_message =
      protocol::String("SaslAuthenticate request received after successful authentication");
  return response;
}

}  // namespace barnabas::broker
