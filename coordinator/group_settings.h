#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metadata/static_config.h"

namespace barnabas::coordinator {

/// Settings of the group coordinator from the settings file, under Kafka's names and with its defaults.
struct GroupSettings {
  // classic groups
  std::chrono::milliseconds session_timeout_min{6'000};      ///< group.min.session.timeout.ms
  std::chrono::milliseconds session_timeout_max{1'800'000};  ///< group.max.session.timeout.ms
  std::chrono::milliseconds initial_rebalance_delay{3'000};  ///< group.initial.rebalance.delay.ms
  std::size_t size_max = 2'147'483'647;                      ///< group.max.size
  // groups of the consumer protocol
  std::size_t consumer_size_max = 2'147'483'647;  ///< group.consumer.max.size
  std::vector<std::string> consumer_assignors{"uniform",
                                              "range"};       ///< group.consumer.assignors, first: default
  std::chrono::milliseconds regex_refresh_interval{600'000};  ///< group.consumer.regex.refresh.interval.ms
  bool upgrade = true;                                        ///< group.consumer.migration.policy
  bool downgrade = true;
  bool consumer_protocol = true;  ///< group.coordinator.rebalance.protocols
  // offsets
  std::size_t offset_metadata_bytes_max = 4'096;                   ///< offset.metadata.max.bytes
  std::chrono::milliseconds offsets_retention{10'080 * 60'000LL};  ///< offsets.retention.minutes
  std::chrono::milliseconds offsets_check_interval{600'000};       ///< offsets.retention.check.interval.ms

  static GroupSettings of(const metadata::StaticConfig& config);
};

/// The name of an assignor ("uniform", "range") that a setting gives by its name or by Kafka's class;
/// nothing: there is no such assignor.
std::optional<std::string> assignor_name(std::string_view name_or_class);

}  // namespace barnabas::coordinator
