#pragma once

#include "base/result.h"
#include "metadata/effective_broker_config.h"

namespace barnabas::broker {

/// The key stores and trust stores of this broker's TLS listeners, as handlers see them. Any thread.
class ListenerStores {
 public:
  virtual ~ListenerStores() = default;

  /// Whether all listeners could go on with these settings: reads the stores they name, so it may wait for a
  /// disk. ErrorKind::invalid has a sentence for the answer, without a secret in it.
  virtual Result<void> check(const metadata::BrokerConfigView& settings) = 0;
};

}  // namespace barnabas::broker
