#include "app/doctor/certificate_examination.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>

#include "app/directories.h"
#include "metadata/effective_broker_config.h"
#include "metadata/image.h"
#include "security/tls_context.h"
#include "security/tls_stores.h"

namespace barnabas::app {
namespace {

using Level = Finding::Level;

constexpr int64_t soon_days = 30;
constexpr const char* area = "certificates";

/// From `now` to it, negative when it is past.
int64_t seconds_until(const ASN1_TIME* time, int64_t now_s) {
  std::tm calendar{};
  return ASN1_TIME_to_tm(time, &calendar) == 1 ? static_cast<int64_t>(::timegm(&calendar)) - now_s : 0;
}

bool stands_in(const x509_st* certificate, const std::string& host) {
  auto* mutable_certificate = const_cast<x509_st*>(certificate);
  unsigned char bytes[16];
  const bool address =
      ::inet_pton(AF_INET, host.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
  return address ? X509_check_ip_asc(mutable_certificate, host.c_str(), 0) == 1
                 : X509_check_host(mutable_certificate, host.c_str(), host.size(), 0, nullptr) == 1;
}

}  // namespace

void tell_certificate(const std::string& listener, const security::Certificate& certificate,
                      const std::string& host, int64_t now_s, Findings& findings) {
  const x509_st* x509 = certificate.get();
  const std::string what =
      "listener " + listener + ": the certificate of " + security::subject_of(x509) + " ";
  const int64_t left_s = seconds_until(X509_get0_notAfter(x509), now_s);
  const int64_t days = left_s / 86'400;
  if (left_s < 0) {
    findings.push_back({Level::problem, area, what + "expired on " + security::expiry_of(x509),
                        "clients refuse to connect",
                        "have a new one made, and put it in the place of the old one: "
                        "the broker notices without a restart"});
  } else if (seconds_until(X509_get0_notBefore(x509), now_s) > 0) {
    findings.push_back({Level::problem, area, what + "is not valid yet", "clients refuse to connect",
                        "look at the clock, or wait"});
  } else if (days < soon_days) {
    findings.push_back(
        {Level::warning, area,
         what + "expires in " + std::to_string(days) + " days, on " + security::expiry_of(x509),
         "from then on clients refuse to connect", "have a new one made in time"});
  }
  if (!host.empty() && !stands_in(x509, host))
    findings.push_back({Level::problem, area,
                        what + "does not have the advertised name " + host + " among its alternative names",
                        "clients check that name, and refuse to connect",
                        "have a certificate made with " + host + " in it, or advertise a name that it has"});
}

void examine_certificates(const Listeners& listeners, const metadata::StaticConfig& config,
                          Findings& findings) {
  const metadata::MetadataImage image;
  const metadata::BrokerConfigView settings(image, node_of(config), config);
  for (const network::ListenerConfig& each : listeners.bind) {
    if (!security::encrypts(each.security_protocol)) continue;
    const auto refuse = [&](const std::string& message) {
      findings.push_back({Level::problem, area, "listener " + each.name + ": " + message,
                          "the broker refuses to start with it",
                          "correct the setting or the file that it names"});
    };
    const auto tls = security::read_tls_settings(settings, each.name, each.security_protocol);
    if (!tls) {
      refuse(tls.error().message);
      continue;
    }
    // All that the broker does with it, so that nothing is overlooked; then the certificate by itself.
    const auto context = security::TlsContext::load(*tls, std::make_shared<security::TicketKeys>());
    const auto entry = context ? security::load_key_entry(tls->key_store)
                               : Result<security::KeyEntry>(std::unexpected(context.error()));
    if (!entry) {
      refuse(entry.error().message);
      continue;
    }
    const auto advertised =
        std::ranges::find(listeners.advertised, each.name, &broker::AdvertisedListener::listener);
    tell_certificate(each.name, entry->certificate,
                     advertised == listeners.advertised.end() ? "" : advertised->host, std::time(nullptr),
                     findings);
  }
}

}  // namespace barnabas::app
