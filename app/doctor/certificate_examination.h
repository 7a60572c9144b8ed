#pragma once

#include <string>
#include <vector>

#include "app/doctor/finding.h"
#include "app/listeners.h"
#include "metadata/static_config.h"
#include "security/key_store.h"

namespace barnabas::app {

/// The stores of all TLS listeners: whether they can be used, and whether clients will take what they are
/// shown under the advertised names.
void examine_certificates(const Listeners& listeners, const metadata::StaticConfig& config,
                          Findings& findings);

/// One certificate; `host` is what clients connect to, empty if nobody knows. `now_s`: seconds since 1970.
void tell_certificate(const std::string& listener, const security::Certificate& certificate,
                      const std::string& host, int64_t now_s, Findings& findings);

}  // namespace barnabas::app
