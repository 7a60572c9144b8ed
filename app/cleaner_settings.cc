#include "app/cleaner_settings.h"

#include <algorithm>

namespace barnabas::app {

storage::CleanerSettings cleaner_settings(const metadata::BrokerConfigView& config) {
  const auto bytes = [&](std::string_view name) {
    return static_cast<uint64_t>(std::max<int64_t>(config.integer(name), 0));
  };
  storage::CleanerSettings settings;
  settings.enabled = config.boolean("log.cleaner.enable");
  settings.threads = static_cast<int>(config.integer("log.cleaner.threads"));
  settings.dedupe_buffer_bytes = bytes("log.cleaner.dedupe.buffer.size");
  settings.load_factor = config.decimal("log.cleaner.io.buffer.load.factor");
  settings.io_buffer_bytes = bytes("log.cleaner.io.buffer.size");
  settings.io_bytes_per_second = config.decimal("log.cleaner.io.max.bytes.per.second");
  settings.backoff = std::chrono::milliseconds(config.integer("log.cleaner.backoff.ms"));
  return settings;
}

}  // namespace barnabas::app
