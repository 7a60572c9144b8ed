#pragma once

#include "broker/call.h"
#include "protocol/messages/alter_user_scram_credentials_request.h"

namespace barnabas::broker {

/// AlterUserScramCredentials (51), v0 (KIP-554): who may log in by SCRAM. The controller decides.
struct AlterUserScramCredentialsHandler {
  using Request = protocol::AlterUserScramCredentialsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
