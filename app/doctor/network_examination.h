#pragma once

#include "app/doctor/finding.h"
#include "app/listeners.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// Whether the ports can be had, and whether the advertised addresses lead to them. Listens on the ports for
/// a moment. `running`: a broker with these settings has them already.
void examine_network(const Listeners& listeners, bool running, Findings& findings);

/// The same for the ports of metrics and health (http.listeners), without which the broker starts all the
/// same unless they were asked for.
void examine_http(const metadata::StaticConfig& config, bool running, Findings& findings);

/// Who is let in without being asked.
void examine_access(const Listeners& listeners, const metadata::StaticConfig& config, Findings& findings);

}  // namespace barnabas::app
