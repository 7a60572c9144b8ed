#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace barnabas::security {

/// What OpenSSL is told about protocols and ciphers.
struct TlsOffer {
  bool tls_1_2 = false;
  bool tls_1_3 = false;
  std::string ciphers_1_2{};  ///< OpenSSL's cipher list
  std::string suites_1_3{};   ///< as the IANA names them
};

/// From ssl.enabled.protocols and ssl.cipher.suites. TLSv1.2 and TLSv1.3 are served; older ones that Java
/// knows are passed over, as Java's own list of disabled algorithms does. A protocol for which no suite is
/// named is not offered. Without suites: those with forward secrecy, AEAD first. ErrorKind::invalid for a
/// name that is none, and when nothing is left.
Result<TlsOffer> tls_offer(const std::vector<std::string>& protocols, const std::vector<std::string>& suites);

}  // namespace barnabas::security
