#pragma once

#include "app/configuration.h"
#include "app/doctor/finding.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// All settings that are wrong (a start tells the first only), and those that have no effect. Gives what is
/// left of them to be looked at further.
metadata::StaticConfig examine_settings(const ConfigurationSources& sources, Findings& findings);

}  // namespace barnabas::app
