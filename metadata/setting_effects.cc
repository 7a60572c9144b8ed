#include "metadata/setting_effects.h"

#include <algorithm>
#include <array>

#include "metadata/config_definitions.h"
#include "metadata/static_config.h"

namespace barnabas::metadata {
namespace {

/// Sorted. A topic's setting is listed here when changing it changes what the broker does, and only then.
/// Brokers' settings are in static_config.cc; those of client metrics all have one.
constexpr auto effective_on_topics = std::to_array<std::string_view>({
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "index.interval.bytes",
    "internal.segment.bytes",
    "max.compaction.lag.ms",
    "max.decompressed.message.bytes",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
});
static_assert(std::ranges::is_sorted(effective_on_topics));

/// Sorted. Settings of groups.
constexpr auto effective_on_groups = std::to_array<std::string_view>({
    "consumer.assignment.interval.ms",
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
});
static_assert(std::ranges::is_sorted(effective_on_groups));

}  // namespace

bool has_effect(ConfigResourceType type, std::string_view setting) {
  switch (type) {
    case ConfigResourceType::topic:
      return std::ranges::binary_search(effective_on_topics, setting);
    case ConfigResourceType::broker:
      return has_effect(setting);
    case ConfigResourceType::group:
      return std::ranges::binary_search(effective_on_groups, setting);
    case ConfigResourceType::client_metrics:
      return find_client_metrics_config(setting) != nullptr;
    default:
      return false;
  }
}

}  // namespace barnabas::metadata
