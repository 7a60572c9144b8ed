#include "coordinator/group_settings.h"

#include <algorithm>
#include <cctype>

namespace barnabas::coordinator {
namespace {

std::chrono::milliseconds milliseconds(const metadata::StaticConfig& config, std::string_view name) {
  return std::chrono::milliseconds(config.integer(name));
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

}  // namespace

GroupSettings GroupSettings::of(const metadata::StaticConfig& config) {
  GroupSettings settings;
  settings.session_timeout_min = milliseconds(config, "group.min.session.timeout.ms");
  settings.session_timeout_max = milliseconds(config, "group.max.session.timeout.ms");
  settings.initial_rebalance_delay = milliseconds(config, "group.initial.rebalance.delay.ms");
  settings.size_max = static_cast<std::size_t>(config.integer("group.max.size"));
  settings.consumer_size_max = static_cast<std::size_t>(config.integer("group.consumer.max.size"));
  settings.consumer_assignors = config.list("group.consumer.assignors");
  settings.regex_refresh_interval = milliseconds(config, "group.consumer.regex.refresh.interval.ms");
  const std::string policy = upper(config.text("group.consumer.migration.policy"));
  settings.upgrade = policy == "UPGRADE" || policy == "BIDIRECTIONAL";
  settings.downgrade = policy == "DOWNGRADE" || policy == "BIDIRECTIONAL";
  const auto protocols = config.list("group.coordinator.rebalance.protocols");
  settings.consumer_protocol = std::ranges::find(protocols, "consumer") != protocols.end();
  settings.offset_metadata_bytes_max = static_cast<std::size_t>(config.integer("offset.metadata.max.bytes"));
  settings.offsets_retention = std::chrono::minutes(config.integer("offsets.retention.minutes"));
  settings.offsets_check_interval = milliseconds(config, "offsets.retention.check.interval.ms");
  return settings;
}

}  // namespace barnabas::coordinator
