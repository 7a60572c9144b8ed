#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace barnabas::security {

/// How a listener is secured, with the numbers of registration records.
enum class SecurityProtocol : uint8_t { plaintext, ssl, sasl_plaintext, sasl_ssl };

/// "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL".
std::string_view to_string(SecurityProtocol protocol);
/// The other way, in any case of letters; nothing for other names.
std::optional<SecurityProtocol> security_protocol(std::string_view name);

constexpr bool encrypts(SecurityProtocol protocol) {
  return protocol == SecurityProtocol::ssl || protocol == SecurityProtocol::sasl_ssl;
}
constexpr bool authenticates_by_sasl(SecurityProtocol protocol) {
  return protocol == SecurityProtocol::sasl_plaintext || protocol == SecurityProtocol::sasl_ssl;
}

}  // namespace barnabas::security
