#pragma once

#include "broker/call.h"
#include "protocol/messages/sasl_authenticate_request.h"
#include "protocol/messages/sasl_authenticate_response.h"

namespace barnabas::broker {

/// SaslAuthenticate (36) out of its place, as SaslHandshakeHandler.
struct SaslAuthenticateHandler {
  using Request = protocol::SaslAuthenticateRequest;
  static protocol::SaslAuthenticateResponse handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
