#include "broker/handlers/config_resources.h"

#include "base/log.h"
#include "broker/listener_stores.h"
#include "metadata/config_definitions.h"
#include "metadata/dynamic_broker_config.h"
#include "metadata/setting_effects.h"

namespace barnabas::broker {

using cluster::ApiError;
using metadata::ConfigResourceType;
using protocol::ErrorCode;

namespace {
constinit Logger log_{"broker"};

/// Event loops are made at the start, and logs are opened before the metadata that hold the dynamic settings.
bool waits_for_a_start(std::string_view name) {
  return name == "num.network.threads" || name == "num.recovery.threads.per.data.dir";
}

/// Who may come in is settled before there are metadata.
bool counts_in_the_file_only(std::string_view name) {
  return name.starts_with("sasl.");
}
}  // namespace

Problem broker_resource_problem(std::string_view name, NodeId node) {
  if (name.empty()) return std::nullopt;
  const auto id = metadata::java_integer(name);
  if (!id)
    return ApiError{ErrorCode::invalid_request,
                    "Node id must be an integer, but it is: " + std::string(name)};
  if (*id != node.value())
    return ApiError{ErrorCode::invalid_request, "Unexpected broker id, expected " +
                                                    std::to_string(node.value()) + ", but received " +
                                                    std::string(name)};
  return std::nullopt;
}

Problem alteration_denied(const Rights& rights, int8_t type, std::string_view name,
                          const AlterRights& which) {
  const auto unless = [](Right right, bool allowed) -> Problem {
    if (allowed) return std::nullopt;
    return ApiError::plain(authorization_failed(right));
  };
  switch (static_cast<ConfigResourceType>(type)) {
    case ConfigResourceType::topic:
      return unless(which.topic, rights.may(which.topic, name));
    case ConfigResourceType::group:
      return unless(which.group, rights.may(which.group, name));
    case ConfigResourceType::broker:
    case ConfigResourceType::broker_logger:
    case ConfigResourceType::client_metrics:
      return unless(which.cluster, rights.may(which.cluster));
    default:
      return std::nullopt;
  }
}

Problem broker_configs_problem(const Services& services, std::string_view resource,
                               const std::map<std::string, std::string, std::less<>>& values,
                               bool names_stores) {
  const auto image = services.metadata.current();
  auto valid = metadata::validate_dynamic_broker_configs(values, !resource.empty(), *image, services.node,
                                                         services.config);
  if (valid && names_stores && services.listener_stores != nullptr && !resource.empty()) {
    metadata::MetadataImage after = *image;
    after.configs.put(std::make_shared<const metadata::ConfigImage>(
        metadata::ConfigImage{{ConfigResourceType::broker, std::to_string(services.node.value())}, values}));
    valid = services.listener_stores->check({after, services.node, services.config});
  }
  if (valid) return std::nullopt;
  return ApiError{ErrorCode::invalid_request, std::move(valid).error().message};
}

void warn_without_effect(ConfigResourceType type, std::string_view resource,
                         const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    if (type == ConfigResourceType::broker && waits_for_a_start(name))
      log_.warn("setting has no effect before the next start name={}", log_text(name));
    if (type == ConfigResourceType::broker && counts_in_the_file_only(name))
      log_.warn("setting counts only in the settings file name={}", log_text(name));
    if (metadata::has_effect(type, name)) continue;
    const char* kind = type == ConfigResourceType::topic    ? "topic"
                       : type == ConfigResourceType::broker ? "broker"
                       : type == ConfigResourceType::group  ? "group"
                                                            : "client-metrics";
    log_.warn("setting has no effect in this version {}={} name={}", kind, log_text(resource),
              log_text(name));
  }
}

}  // namespace barnabas::broker
