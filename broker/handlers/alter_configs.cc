#include "broker/handlers/alter_configs.h"

#include "broker/handlers/config_resources.h"
#include "protocol/messages/alter_configs_response.h"

namespace barnabas::broker {
namespace {

using cluster::ApiError;
using metadata::ConfigResourceType;
using protocol::AlterConfigsRequest;
using protocol::AlterConfigsResponse;
using protocol::ErrorCode;
using Resource = AlterConfigsRequest::AlterConfigsResource;

ApiError invalid_request(std::string message) {
  return {ErrorCode::invalid_request, std::move(message)};
}

constexpr AlterRights alter_rights{Right::alter_configs_cluster, Right::alter_configs_topic,
                                   Right::alter_configs_group};

/// Nothing: the controller decides.
std::optional<Problem> decide(const Services& services, const Rights& rights, const Resource& resource) {
  if (auto problem = config_entries_problem(resource.configs, [](const auto&) { return true; }))
    return problem;
  if (auto problem = alteration_denied(rights, resource.resource_type, resource.resource_name, alter_rights))
    return problem;
  switch (static_cast<ConfigResourceType>(resource.resource_type)) {
    case ConfigResourceType::broker: {
      if (auto problem = broker_resource_problem(resource.resource_name, services.node)) return problem;
      std::map<std::string, std::string, std::less<>> values;
      for (const auto& config : resource.configs)
        values.insert_or_assign(config.name.str(), config.value->str());
      if (auto problem = broker_configs_problem(services, resource.resource_name, values,
                                                names_stores(resource.configs)))
        return problem;
      return std::nullopt;
    }
    case ConfigResourceType::topic:
    case ConfigResourceType::client_metrics:
    case ConfigResourceType::group:
      return std::nullopt;
    case ConfigResourceType::broker_logger:
    case ConfigResourceType::unknown:
      break;
  }
  return invalid_request("Unknown resource type " + std::to_string(resource.resource_type));
}

void warn_of_success(const AlterConfigsRequest& request, const AlterConfigsResponse& response) {
  if (request.validate_only) return;
  for (std::size_t i = 0; i < request.resources.size(); ++i) {
    if (response.responses[i].error_code != 0) continue;
    const Resource& resource = request.resources[i];
    std::vector<std::string_view> names;
    for (const auto& config : resource.configs) names.push_back(config.name.view());
    warn_without_effect(static_cast<ConfigResourceType>(resource.resource_type), resource.resource_name,
                        names);
  }
}

void run(Call call, AlterConfigsRequest request) {
  Decisions decisions;
  const Rights rights = call.rights();
  const auto repeated = repeated_resources(request);
  for (std::size_t i = 0; i < request.resources.size(); ++i)
    decisions.push_back(repeated[i] ? Problem(invalid_request("Each resource must appear at most once."))
                                    : decide(call.services(), rights, request.resources[i]));
  AlterConfigsRequest rest = undecided(request, decisions, call.services().node);
  cluster::ControllerGateway& controller = call.services().controller;
  // What was decoded borrows from the frame, which the callback keeps.
  auto answer = [call = std::move(call), request = std::move(request),
                 decisions = std::move(decisions)](const AlterConfigsResponse& response) mutable {
    const auto all = all_answers(request, decisions, response);
    warn_of_success(request, all);
    call.reply(all);
  };
  if (rest.resources.empty()) return answer({});
  controller.alter_configs(std::move(rest), std::move(answer));
}

}  // namespace

void AlterConfigsHandler::handle(Call call, Request request) {
  decide_where_it_may_wait(std::move(call), std::move(request), run);
}

}  // namespace barnabas::broker
