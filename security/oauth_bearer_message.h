#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "base/types.h"

namespace barnabas::security {

/// What a client of OAUTHBEARER begins with (RFC 7628, section 3.1): "n,a=<who>,^Aauth=Bearer
/// <token>^A…^A^A".
struct OAuthBearerMessage {
  std::string as_whom{};  ///< the authorization id; "" when there is none
  std::string token{};
  std::map<std::string, std::string, std::less<>>
      extensions{};  ///< KIP-342: what else the client says of itself

  /// What Kafka accepts, but for a name that comes twice. No error repeats anything of the message.
  static Result<OAuthBearerMessage> parse(ByteView message);
};

}  // namespace barnabas::security
