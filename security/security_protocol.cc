#include "security/security_protocol.h"

#include <algorithm>
#include <cctype>

namespace barnabas::security {

std::string_view to_string(SecurityProtocol protocol) {
  switch (protocol) {
    case SecurityProtocol::plaintext:
      return "PLAINTEXT";
    case SecurityProtocol::ssl:
      return "SSL";
    case SecurityProtocol::sasl_plaintext:
      return "SASL_PLAINTEXT";
    case SecurityProtocol::sasl_ssl:
      return "SASL_SSL";
  }
  return "UNKNOWN";
}

std::optional<SecurityProtocol> security_protocol(std::string_view name) {
  const auto same_letter = [](unsigned char given, unsigned char wanted) {
    return std::toupper(given) == wanted;
  };
  for (const auto protocol : {SecurityProtocol::plaintext, SecurityProtocol::ssl,
                              SecurityProtocol::sasl_plaintext, SecurityProtocol::sasl_ssl})
    if (std::ranges::equal(name, to_string(protocol), same_letter)) return protocol;
  return std::nullopt;
}

}  // namespace barnabas::security
