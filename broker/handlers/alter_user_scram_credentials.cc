#include "broker/handlers/alter_user_scram_credentials.h"

#include "broker/handlers/forwarded.h"
#include "protocol/messages/alter_user_scram_credentials_response.h"

namespace barnabas::broker {

void AlterUserScramCredentialsHandler::handle(Call call, Request request) {
  forward_if(Right::alter_scram, std::move(call), std::move(request),
             &cluster::ControllerGateway::alter_user_scram_credentials);
}

}  // namespace barnabas::broker
