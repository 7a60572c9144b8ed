#include "coordinator/transaction_settings.h"

namespace barnabas::coordinator {

TransactionSettings TransactionSettings::of(const metadata::StaticConfig& config) {
  const auto milliseconds = [&](std::string_view name) {
    return std::chrono::milliseconds(config.integer(name));
  };
  return {
      .max_timeout = milliseconds("transaction.max.timeout.ms"),
      .id_expiration = milliseconds("transactional.id.expiration.ms"),
      .abort_interval = milliseconds("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
      .expiration_interval = milliseconds("transaction.remove.expired.transaction.cleanup.interval.ms"),
  };
}

}  // namespace barnabas::coordinator
