#pragma once

#include "metadata/effective_broker_config.h"
#include "storage/log_cleaner.h"

namespace barnabas::app {

/// The cleaner's own settings as they are in force.
storage::CleanerSettings cleaner_settings(const metadata::BrokerConfigView& config);

}  // namespace barnabas::app
