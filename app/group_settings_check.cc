#include "app/group_settings_check.h"

#include <algorithm>
#include <array>
#include <string>

#include "app/setting_error.h"
#include "coordinator/group_settings.h"

namespace barnabas::app {
namespace {

using metadata::StaticConfig;

std::unexpected<Error> refuse(const StaticConfig& config, std::string_view name, std::string_view why) {
  return setting_error(ErrorKind::invalid, config, name, why);
}

/// `less` must not be above `more`.
struct Order {
  std::string_view less;
  std::string_view more;
};
constexpr std::array orders{
    Order{"group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"},
    Order{"group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
    Order{"group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"},
    Order{"group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
    Order{"group.consumer.min.assignment.interval.ms", "group.consumer.assignment.interval.ms"},
    Order{"group.consumer.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
};

}  // namespace

Result<void> check_group_settings(const StaticConfig& config) {
  for (const auto& [less, more] : orders)
    if (config.integer(less) > config.integer(more))
      return refuse(config, config.given(less) != nullptr ? less : more,
                    std::string(more) + " must be greater than or equal to " + std::string(less));
  constexpr std::string_view interval = "group.consumer.heartbeat.interval.ms";
  constexpr std::string_view timeout = "group.consumer.session.timeout.ms";
  if (config.integer(interval) >= config.integer(timeout))
    return refuse(config, config.given(interval) != nullptr ? interval : timeout,
                  std::string(interval) + " must be less than " + std::string(timeout));
  for (const auto& name : config.list("group.consumer.assignors"))
    if (!coordinator::assignor_name(name))
      return refuse(config, "group.consumer.assignors",
                    name + " is not an assignor of this version; expected uniform, range");
  const auto protocols = config.list("group.coordinator.rebalance.protocols");
  if (std::ranges::find(protocols, "classic") == protocols.end())
    return refuse(config, "group.coordinator.rebalance.protocols",
                  "disabling the classic protocol is not supported");
  return {};
}

}  // namespace barnabas::app
