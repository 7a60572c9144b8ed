#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/connection_settings.h"

namespace barnabas::client {

/// Sends one message of a SASL exchange and gives the server's.
using SaslRound = std::function<Result<std::string>(std::string_view message)>;

/// Logs in with the settings' mechanism, PLAIN or SCRAM (RFC 5802), round by round. With SCRAM the server has
/// to show that it knows the password too. ErrorKind::invalid for messages that are none of the mechanism's.
/// `nonce`: letters and digits that nobody can guess.
Result<void> log_in(const ConnectionSettings& settings, std::string_view nonce, const SaslRound& round);

}  // namespace barnabas::client
