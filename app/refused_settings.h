#pragma once

#include "base/result.h"
#include "base/types.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// Settings of Kafka's that promise something about the data which this version would break: who may use
/// them, which quorum decides about them, where they lie. Other settings without effect cost a warning; with
/// these, going on would serve openly what was protected, or as a whole what is a part. The error names where
/// the setting stands, what it asks for and what to do; each can be taken back by `--override name=`, which
/// is then the operator's word. Listeners that are not PLAINTEXT are refused by parse_listeners.
Result<void> refuse_broken_promises(const metadata::StaticConfig& config, NodeId node);

}  // namespace barnabas::app
