#pragma once

#include "broker/call.h"
#include "protocol/messages/sasl_handshake_request.h"
#include "protocol/messages/sasl_handshake_response.h"

namespace barnabas::broker {

/// SaslHandshake (17) where nobody has to authenticate, or has done so: ILLEGAL_SASL_STATE without
/// mechanisms, and the connection stays as it was. The ones that mean something are taken by Authentication
/// before.
struct SaslHandshakeHandler {
  using Request = protocol::SaslHandshakeRequest;
  static protocol::SaslHandshakeResponse handle(Call& call, const Request& request);
};

}  // namespace barnabas::broker
