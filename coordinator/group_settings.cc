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

std::optional<std::string> assignor_name(std::string_view name_or_class) {
  constexpr std::string_view package = "org.apache.kafka.coordinator.group.assignor.";
  for (const auto& [name, type] :
       {std::pair("uniform", "UniformAssignor"), std::pair("range", "RangeAssignor")})
    if (name_or_class == name || name_or_class == std::string(package) + type) return name;
  return std::nullopt;
}

GroupSettings GroupSettings::of(const metadata::StaticConfig& config) {
  GroupSettings settings;
  settings.session_timeout_min = milliseconds(config, "group.min.session.timeout.ms");
  settings.session_timeout_max = milliseconds(config, "group.max.session.timeout.ms");
  settings.initial_rebalance_delay = milliseconds(config, "group.initial.rebalance.delay.ms");
  settings.size_max = static_cast<std::size_t>(config.integer("group.max.size"));
  settings.consumer_size_max = static_cast<std::size_t>(config.integer("group.consumer.max.size"));
  settings.consumer_assignors.clear();
  for (const auto& given : config.list("group.consumer.assignors"))
    if (auto name = assignor_name(given)) settings.consumer_assignors.push_back(std::move(*name));
  if (settings.consumer_assignors.empty()) settings.consumer_assignors.emplace_back("uniform");
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
