#include "coordinator/consumer_settings.h"

#include <algorithm>
#include <charconv>

#include "metadata/effective_config.h"

namespace barnabas::coordinator {
namespace {

using std::chrono::milliseconds;

milliseconds number(const metadata::StaticConfig& config, std::string_view name) {
  return milliseconds(config.integer(name));
}

std::optional<milliseconds> parsed(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return milliseconds(value);
}

}  // namespace

ConsumerSettings::ConsumerSettings(const ShardEnvironment& environment)
    : environment_(environment),
      session_timeout_{number(environment.config, "group.consumer.min.session.timeout.ms"),
                       number(environment.config, "group.consumer.max.session.timeout.ms")},
      heartbeat_interval_{number(environment.config, "group.consumer.min.heartbeat.interval.ms"),
                          number(environment.config, "group.consumer.max.heartbeat.interval.ms")},
      assignment_interval_{number(environment.config, "group.consumer.min.assignment.interval.ms"),
                           number(environment.config, "group.consumer.max.assignment.interval.ms")} {
  broker_changed();
}

void ConsumerSettings::broker_changed() {
  const auto& config = environment_.config;
  defaults_.session_timeout = number(config, "group.consumer.session.timeout.ms");
  defaults_.heartbeat_interval = number(config, "group.consumer.heartbeat.interval.ms");
  defaults_.assignment_interval = number(config, "group.consumer.assignment.interval.ms");
  const std::string node = std::to_string(environment_.node.value());
  for (const std::string_view broker : {std::string_view(node), std::string_view()}) {
    const auto dynamic =
        metadata::dynamic_broker_value(*environment_.image, broker, "group.consumer.assignment.interval.ms");
    if (!dynamic) continue;
    defaults_.assignment_interval = parsed(*dynamic).value_or(defaults_.assignment_interval);
    break;
  }
}

ConsumerGroupSettings ConsumerSettings::of(std::string_view group) const {
  ConsumerGroupSettings settings = defaults_;
  const auto* own = environment_.image->config(metadata::ConfigResourceType::group, group);
  if (own == nullptr) return settings;
  // The bounds may have become narrower since the value was set.
  const auto take = [own](std::string_view name, const Bounds& bounds, milliseconds& setting) {
    const auto found = own->values.find(name);
    if (found == own->values.end()) return;
    if (const auto value = parsed(found->second))
      setting = std::max(bounds.min, std::min(*value, bounds.max));
  };
  take("consumer.session.timeout.ms", session_timeout_, settings.session_timeout);
  take("consumer.heartbeat.interval.ms", heartbeat_interval_, settings.heartbeat_interval);
  take("consumer.assignment.interval.ms", assignment_interval_, settings.assignment_interval);
  return settings;
}

}  // namespace barnabas::coordinator
