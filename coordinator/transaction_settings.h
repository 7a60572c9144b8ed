#pragma once

#include <chrono>
#include <cstdint>

#include "metadata/static_config.h"

namespace barnabas::coordinator {

/// What transaction coordinators take from server.properties, by Kafka's names.
struct TransactionSettings {
  std::chrono::milliseconds max_timeout{};    ///< transaction.max.timeout.ms
  std::chrono::milliseconds id_expiration{};  ///< transactional.id.expiration.ms
  std::chrono::milliseconds
      abort_interval{};  ///< transaction.abort.timed.out.transaction.cleanup.interval.ms
  std::chrono::milliseconds
      expiration_interval{};  ///< transaction.remove.expired.transaction.cleanup.interval.ms

  static TransactionSettings of(const metadata::StaticConfig& config);
};

}  // namespace barnabas::coordinator
