#include "metadata/resource_configs.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "metadata/config_definitions.h"
#include "metadata/effective_broker_config.h"
#include "metadata/java_pattern.h"

namespace barnabas::metadata {
namespace {

/// A group's number and the broker's settings that bound it; an empty name is no bound.
struct GroupBounds {
  std::string_view name;
  std::string_view min;
  std::string_view max;
};

constexpr auto group_bounds = std::to_array<GroupBounds>({
    {"consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms",
     "group.consumer.max.heartbeat.interval.ms"},
    {"consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms",
     "group.consumer.max.session.timeout.ms"},
    {"consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms",
     "group.consumer.max.assignment.interval.ms"},
    {"share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms",
     "group.share.max.heartbeat.interval.ms"},
    {"share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"},
    {"share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms",
     "group.share.max.record.lock.duration.ms"},
    {"share.delivery.count.limit", "group.share.min.delivery.count.limit",
     "group.share.max.delivery.count.limit"},
    {"share.partition.max.record.locks", "group.share.min.partition.max.record.locks",
     "group.share.max.partition.max.record.locks"},
    {"share.assignment.interval.ms", "group.share.min.assignment.interval.ms",
     "group.share.max.assignment.interval.ms"},
    {"streams.heartbeat.interval.ms", "group.streams.min.heartbeat.interval.ms",
     "group.streams.max.heartbeat.interval.ms"},
    {"streams.session.timeout.ms", "group.streams.min.session.timeout.ms",
     "group.streams.max.session.timeout.ms"},
    {"streams.assignment.interval.ms", "group.streams.min.assignment.interval.ms",
     "group.streams.max.assignment.interval.ms"},
    {"streams.num.standby.replicas", "", "group.streams.max.standby.replicas"},
    {"streams.num.warmup.replicas", "", "group.streams.max.warmup.replicas"},
    {"streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms", ""},
});

class GroupCheck {
 public:
  GroupCheck(const ConfigImage& values, const MetadataImage& image, NodeId node,
             const StaticConfig& static_config)
      : values_(values),
        broker_(image, node, static_config),
        image_(image),
        node_(node),
        static_config_(static_config) {}

  Result<void> run() const {
    for (const auto& [name, value] : values_.values)
      if (find_group_config(name) == nullptr) return refuse("Unknown group config name: " + name);
    for (const auto& [name, value] : values_.values)
      BARNABAS_TRY(check_value(*find_group_config(name), value));
    for (const GroupBounds& bounds : group_bounds) BARNABAS_TRY(check_bounds(bounds));
    for (const std::string_view kind : {"consumer", "share", "streams"}) BARNABAS_TRY(check_session(kind));
    return check_names();
  }

 private:
  static std::unexpected<Error> refuse(std::string text) { return fail(ErrorKind::invalid, std::move(text)); }

  static Result<void> check_value(const ConfigDefinition& definition, const std::string& value) {
    ConfigDefinition lenient = definition;
    lenient.duplicates_allowed = true;  // those have a rule and a text of their own
    BARNABAS_TRY(validate_config(lenient, value));
    if (definition.name != "share.auto.offset.reset" || value == "latest" || value == "earliest" ||
        (value.starts_with("by_duration:") && is_java_duration(std::string_view(value).substr(12))))
      return {};
    return refuse("Invalid value " + value + " for configuration share.auto.offset.reset: Invalid value `" +
                  value +
                  "` for configuration share.auto.offset.reset. The value must be either 'earliest', "
                  "'latest' or of the "
                  "format 'by_duration:<PnDTnHnMn.nS>'.");
  }

  Result<void> check_bounds(const GroupBounds& bounds) const {
    const auto found = values_.values.find(bounds.name);
    if (found == values_.values.end()) return {};
    const int64_t value = parse_integer(found->second).value_or(0);
    const std::string name(bounds.name);
    if (bounds.max.empty()) {
      const int64_t min = broker_.integer(bounds.min);
      if (value < min) return refuse(name + " must be greater than or equal to " + std::to_string(min));
      return {};
    }
    const int64_t max = broker_.integer(bounds.max);
    if (bounds.min.empty()) {
      if (value > max) return refuse(name + " must be less than or equal to " + std::to_string(max));
      return {};
    }
    const int64_t min = broker_.integer(bounds.min);
    if (value < min || value > max)
      return refuse(name + " must be in the range " + std::to_string(min) + " to " + std::to_string(max) +
                    " inclusive.");
    return {};
  }

  int64_t in_force(const std::string& name) const {
    const auto value =
        effective_topic_config(*find_group_config(name), &values_, image_, node_, static_config_).value;
    return parse_integer(value.value_or("")).value_or(0);
  }

  Result<void> check_session(std::string_view kind) const {
    const std::string session = std::string(kind) + ".session.timeout.ms";
    const std::string heartbeat = std::string(kind) + ".heartbeat.interval.ms";
    if (in_force(session) > in_force(heartbeat)) return {};
    return refuse(session + " must be greater than " + heartbeat);
  }

  Result<void> check_names() const {
    if (const auto found = values_.values.find("errors.deadletterqueue.topic.name");
        found != values_.values.end() && found->second.starts_with("__"))
      return refuse("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'");
    if (const auto found = values_.values.find("streams.assignor.name"); found != values_.values.end()) {
      const std::string known = broker_.text("group.streams.assignors");
      const auto assignors = split_list(known);
      if (std::ranges::find(assignors, std::string_view(found->second)) == assignors.end())
        return refuse("streams.assignor.name '" + found->second +
                      "' is not a registered task assignor. Registered assignors are: [" + known + "].");
    }
    const auto tags = values_.values.find("streams.rack.aware.assignment.tags");
    if (tags == values_.values.end()) return {};
    auto items = split_list(tags->second);
    std::ranges::sort(items);
    if (std::ranges::adjacent_find(items) != items.end())
      return refuse("streams.rack.aware.assignment.tags must not contain duplicate tag keys.");
    return {};
  }

  const ConfigImage& values_;
  const BrokerConfigView broker_;
  const MetadataImage& image_;
  const NodeId node_;
  const StaticConfig& static_config_;
};

constexpr auto match_keys = std::to_array<std::string_view>(
    {"client_id", "client_instance_id", "client_software_name", "client_software_version",
     "client_source_address", "client_source_port"});

}  // namespace

std::optional<ClientMatch> parse_client_match(std::string_view item) {
  const auto equals = item.find('=');
  if (equals == item.npos || item.find('=', equals + 1) != item.npos || equals + 1 == item.size())
    return std::nullopt;
  const ClientMatch match{trimmed(item.substr(0, equals)), trimmed(item.substr(equals + 1))};
  return std::ranges::find(match_keys, match.property) == match_keys.end() ? std::nullopt
                                                                           : std::optional(match);
}

Result<void> validate_group_configs(const ConfigImage& values, const MetadataImage& image, NodeId node,
                                    const StaticConfig& static_config) {
  return GroupCheck(values, image, node, static_config).run();
}

Result<void> validate_client_metrics_configs(const ConfigImage& values) {
  for (const auto& [name, value] : values.values)
    if (find_client_metrics_config(name) == nullptr)
      return fail(ErrorKind::unsupported, "Unknown client metrics configuration: " + name);
  for (const auto& [name, value] : values.values) {
    ConfigDefinition lenient = *find_client_metrics_config(name);
    lenient.duplicates_allowed = true;
    BARNABAS_TRY(validate_config(lenient, value));
  }
  constexpr int64_t interval_ms_min = 100;
  constexpr int64_t interval_ms_max = 3'600'000;
  if (const auto found = values.values.find("interval.ms"); found != values.values.end()) {
    const int64_t interval = parse_integer(found->second).value_or(0);
    if (interval < interval_ms_min || interval > interval_ms_max)
      return fail(ErrorKind::unsupported,
                  "Invalid value " + std::to_string(interval) +
                      " for interval.ms, interval must be between 100 and 3600000 (1 hour)");
  }
  if (const auto found = values.values.find("match"); found != values.values.end())
    for (const std::string_view item : split_list(found->second))
      if (const auto match = parse_client_match(item); !match || !is_java_pattern(match->pattern))
        return fail(ErrorKind::invalid, "Illegal client matching pattern: " + std::string(item));
  return {};
}

}  // namespace barnabas::metadata
