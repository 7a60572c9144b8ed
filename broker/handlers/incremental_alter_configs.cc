#include "broker/handlers/incremental_alter_configs.h"

#include <algorithm>

#include "base/log.h"
#include "broker/handlers/config_resources.h"
#include "metadata/config_definitions.h"
#include "protocol/messages/incremental_alter_configs_response.h"

namespace barnabas::broker {
namespace {

using cluster::ApiError;
using metadata::ConfigResourceType;
using protocol::ErrorCode;
using protocol::IncrementalAlterConfigsRequest;
using protocol::IncrementalAlterConfigsResponse;
using Resource = IncrementalAlterConfigsRequest::AlterConfigsResource;
using Config = IncrementalAlterConfigsRequest::AlterableConfig;
using Values = std::map<std::string, std::string, std::less<>>;

constinit Logger log_{"broker"};

enum class Operation : int8_t { set = 0, remove = 1, append = 2, subtract = 3 };

Operation operation_of(const Config& config) {
  return static_cast<Operation>(config.config_operation);
}
bool is_known(Operation operation) {
  return operation >= Operation::set && operation <= Operation::subtract;
}

ApiError invalid_request(std::string message) {
  return {ErrorCode::invalid_request, std::move(message)};
}
ApiError invalid_config(std::string message) {
  return {ErrorCode::invalid_config, std::move(message)};
}

/// Levels of this broker's loggers.
class Loggers {
 public:
  static Problem alter(const Resource& resource, NodeId node, bool validate_only) {
    const auto id = metadata::java_integer(resource.resource_name);
    if (!id) return invalid_request("Node id must be an integer, but it is: " + resource.resource_name.str());
    if (*id != node.value())
      return invalid_request("Unexpected node id. Expected " + std::to_string(node.value()) +
                             ", but received " + std::to_string(*id));
    for (const Config& config : resource.configs)
      if (auto problem = check(config)) return problem;
    if (validate_only) return std::nullopt;
    for (const Config& config : resource.configs) {
      const bool removes = operation_of(config) == Operation::remove;
      (void)set_logger_level(config.name.view(), removes ? std::nullopt : log_level_from_name(*config.value));
      log_.warn("log level changed logger={} level={}", config.name.view(),
                removes ? "root's" : config.value->view());
    }
    return std::nullopt;
  }

 private:
  static Problem check(const Config& config) {
    const std::string name = config.name.str();
    switch (operation_of(config)) {
      case Operation::set:
        if (auto problem = missing(name)) return problem;
        if (!log_level_from_name(*config.value))
          return invalid_config(
              "Cannot set the log level of " + name + " to " + config.value->str() +
              " as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, "
              "TRACE, WARN");
        return std::nullopt;
      case Operation::remove:
        if (auto problem = missing(name)) return problem;
        if (name == root_logger)
          return invalid_request("Removing the log level of the root logger is not allowed");
        return std::nullopt;
      case Operation::append:
        return invalid_request("APPEND operation is not allowed for the BROKER_LOGGER resource");
      case Operation::subtract:
        return invalid_request("SUBTRACT operation is not allowed for the BROKER_LOGGER resource");
    }
    return invalid_request("Unknown operation type " + std::to_string(config.config_operation) +
                           " is not allowed for the BROKER_LOGGER resource");
  }

  static Problem missing(const std::string& name) {
    const auto states = logger_states();
    if (std::ranges::find(states, name, &LoggerState::name) != states.end()) return std::nullopt;
    return invalid_config("Logger " + name + " does not exist!");
  }
};

/// What a broker resource would hold after the operations, with Kafka's rules of how a broker works them out.
class BrokerChange {
 public:
  BrokerChange(const Services& services, const Resource& resource)
      : services_(services), resource_(resource) {
    const std::string name =
        resource.resource_name.view().empty() ? "" : std::to_string(services.node.value());
    const auto image = services.metadata.current();
    if (const auto* current = image->config(ConfigResourceType::broker, name)) values_ = current->values;
  }

  Problem check() {
    for (const Config& config : resource_.configs)
      if (!is_known(operation_of(config)))
        return invalid_request("Unknown operations type " + std::to_string(config.config_operation));
    for (const Config& config : resource_.configs)
      if (auto problem = apply(config)) return problem;
    return broker_configs_problem(services_, resource_.resource_name, values_,
                                  names_stores(resource_.configs));
  }

 private:
  Problem apply(const Config& config) {
    const std::string name = config.name.str();
    switch (operation_of(config)) {
      case Operation::set:
        values_.insert_or_assign(name, config.value->str());
        return std::nullopt;
      case Operation::remove:
        values_.erase(name);
        return std::nullopt;
      case Operation::append:
      case Operation::subtract:
        return change_list(name, config.value->view(), operation_of(config) == Operation::append);
    }
    return std::nullopt;
  }

  Problem change_list(const std::string& name, std::string_view items, bool append) {
    const auto* definition = metadata::find_broker_config(name);
    if (definition == nullptr) return invalid_config("Unknown config name: " + name);
    if (definition->type != metadata::ConfigType::list)
      return invalid_config(std::string("Config value ") + (append ? "append" : "subtract") +
                            " is not allowed for config key: " + name);
    const auto found = values_.find(name);
    const std::string before = found != values_.end()                 ? found->second
                               : definition->default_value != nullptr ? definition->default_value
                                                                      : "";
    auto list = metadata::split_list(before);
    for (const std::string_view item : metadata::split_list(items)) {
      const auto at = std::ranges::find(list, item);
      if (append && at == list.end()) list.push_back(item);
      if (!append && at != list.end()) list.erase(at);
    }
    std::string after;
    for (std::size_t i = 0; i < list.size(); ++i) after += (i == 0 ? "" : ",") + std::string(list[i]);
    values_.insert_or_assign(name, after);
    return std::nullopt;
  }

  const Services& services_;
  const Resource& resource_;
  Values values_;
};

constexpr AlterRights alter_rights{Right::incremental_alter_configs_cluster,
                                   Right::incremental_alter_configs_topic,
                                   Right::incremental_alter_configs_group};

/// Nothing: the controller decides.
std::optional<Problem> decide(const Services& services, const Rights& rights, const Resource& resource,
                              bool validate_only) {
  if (auto problem = config_entries_problem(
          resource.configs, [](const Config& config) { return operation_of(config) != Operation::remove; }))
    return problem;
  if (auto problem = alteration_denied(rights, resource.resource_type, resource.resource_name, alter_rights))
    return problem;
  switch (static_cast<ConfigResourceType>(resource.resource_type)) {
    case ConfigResourceType::broker_logger:
      return Loggers::alter(resource, services.node, validate_only);
    case ConfigResourceType::broker:
      if (auto problem = broker_resource_problem(resource.resource_name, services.node)) return problem;
      if (auto problem = BrokerChange(services, resource).check()) return problem;
      return std::nullopt;
    case ConfigResourceType::topic:
    case ConfigResourceType::client_metrics:
    case ConfigResourceType::group:
      return std::nullopt;
    case ConfigResourceType::unknown:
      break;
  }
  return invalid_request("Unknown resource type " + std::to_string(resource.resource_type));
}

void warn_of_success(const IncrementalAlterConfigsRequest& request,
                     const IncrementalAlterConfigsResponse& response) {
  if (request.validate_only) return;
  for (std::size_t i = 0; i < request.resources.size(); ++i) {
    const Resource& resource = request.resources[i];
    const auto type = static_cast<ConfigResourceType>(resource.resource_type);
    if (response.responses[i].error_code != 0 || type == ConfigResourceType::broker_logger) continue;
    std::vector<std::string_view> names;
    for (const Config& config : resource.configs)
      if (operation_of(config) != Operation::remove) names.push_back(config.name.view());
    warn_without_effect(type, resource.resource_name, names);
  }
}

void run(Call call, IncrementalAlterConfigsRequest request) {
  Decisions decisions;
  const Rights rights = call.rights();
  const auto repeated = repeated_resources(request);
  for (std::size_t i = 0; i < request.resources.size(); ++i)
    decisions.push_back(repeated[i]
                            ? Problem(invalid_request("Each resource must appear at most once."))
                            : decide(call.services(), rights, request.resources[i], request.validate_only));
  IncrementalAlterConfigsRequest rest = undecided(request, decisions, call.services().node);
  cluster::ControllerGateway& controller = call.services().controller;
  // What was decoded borrows from the frame, which the callback keeps.
  auto answer = [call = std::move(call), request = std::move(request),
                 decisions = std::move(decisions)](const IncrementalAlterConfigsResponse& response) mutable {
    const auto all = all_answers(request, decisions, response);
    warn_of_success(request, all);
    call.reply(all);
  };
  if (rest.resources.empty()) return answer({});
  controller.incremental_alter_configs(std::move(rest), std::move(answer));
}

}  // namespace

void IncrementalAlterConfigsHandler::handle(Call call, Request request) {
  decide_where_it_may_wait(std::move(call), std::move(request), run);
}

}  // namespace barnabas::broker
