#pragma once

#include "base/result.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// Settings of groups that do not fit together, or name assignors that are not here: Java's own cannot run.
/// ErrorKind::invalid, with where it was set.
Result<void> check_group_settings(const metadata::StaticConfig& config);

}  // namespace barnabas::app
