#include "security/cipher_suites.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace barnabas::security {
namespace {

constexpr const char* usual_ciphers_1_2 =
    "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:ECDHE+AES:DHE+AES:!aNULL:!PSK:!SRP:!DSS:!AESCCM";
constexpr const char* usual_suites_1_3 =
    "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
constexpr auto suites_of_1_3 = std::to_array<std::string_view>({
    "TLS_AES_128_CCM_8_SHA256",
    "TLS_AES_128_CCM_SHA256",
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
});
constexpr auto old_protocols =
    std::to_array<std::string_view>({"SSL", "SSLv2", "SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"});

template <class Names>
bool holds(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void append(std::string& list, std::string_view name) {
  if (!list.empty()) list += ':';
  list += name;
}

/// Java still calls the oldest ones SSL_.
std::string standard_name(const std::string& suite) {
  return suite.starts_with("SSL_") ? "TLS_" + suite.substr(4) : suite;
}

Result<void> add_suites(const std::vector<std::string>& suites, TlsOffer& offer) {
  for (const std::string& suite : suites) {
    if (holds(suites_of_1_3, suite)) {
      append(offer.suites_1_3, suite);
      continue;
    }
    const std::string_view name = OPENSSL_cipher_name(standard_name(suite).c_str());
    // That no connection can be made with: without encryption, without authentication.
    const bool usable =
        name != "(NONE)" && suite.find("_NULL_") == suite.npos && suite.find("_anon_") == suite.npos;
    if (!usable)
      return fail(ErrorKind::invalid, "ssl.cipher.suites: \"" + suite +
                                          "\" is no cipher suite that is served here; expected names such as "
                                          "TLS_AES_256_GCM_SHA384 or TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
    append(offer.ciphers_1_2, name);
  }
  return {};
}

}  // namespace

Result<TlsOffer> tls_offer(const std::vector<std::string>& protocols,
                           const std::vector<std::string>& suites) {
  TlsOffer offer;
  for (const std::string& protocol : protocols) {
    if (protocol == "TLSv1.2") {
      offer.tls_1_2 = true;
    } else if (protocol == "TLSv1.3") {
      offer.tls_1_3 = true;
    } else if (!holds(old_protocols, protocol)) {
      return fail(ErrorKind::invalid, "ssl.enabled.protocols: \"" + protocol +
                                          "\"; expected TLSv1.2 and TLSv1.3, or one of them");
    }
  }
  if (protocols.empty()) offer.tls_1_2 = offer.tls_1_3 = true;
  if (!offer.tls_1_2 && !offer.tls_1_3)
    return fail(
        ErrorKind::invalid,
        "ssl.enabled.protocols: nothing in it is served; expected TLSv1.2 and TLSv1.3, or one of them");
  if (suites.empty()) {
    offer.ciphers_1_2 = usual_ciphers_1_2;
    offer.suites_1_3 = usual_suites_1_3;
    return offer;
  }
  if (const auto added = add_suites(suites, offer); !added) return std::unexpected(added.error());
  offer.tls_1_2 = offer.tls_1_2 && !offer.ciphers_1_2.empty();
  offer.tls_1_3 = offer.tls_1_3 && !offer.suites_1_3.empty();
  if (!offer.tls_1_2 && !offer.tls_1_3)
    return fail(ErrorKind::invalid, "ssl.cipher.suites: none of them belongs to ssl.enabled.protocols");
  return offer;
}

}  // namespace barnabas::security
