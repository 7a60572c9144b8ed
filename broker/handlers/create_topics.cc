#include "broker/handlers/create_topics.h"

#include <string>
#include <utility>
#include <vector>

#include "broker/handlers/config_resources.h"
#include "broker/quotas/client_mutations.h"
#include "metadata/setting_effects.h"
#include "protocol/messages/create_topics_response.h"

namespace barnabas::broker {

namespace {

/// The first that knows THROTTLING_QUOTA_EXCEEDED.
constexpr int16_t first_strict_version = 6;

/// Topic and setting of what the request sets without an effect: a word of warning once the topic is there.
using Ineffective = std::vector<std::pair<std::string, std::string>>;

Ineffective ineffective_settings(const protocol::CreateTopicsRequest& request) {
  Ineffective found;
  if (request.validate_only) return found;
  for (const auto& topic : request.topics)
    for (const auto& config : topic.configs)
      if (!metadata::has_effect(metadata::ConfigResourceType::topic, config.name.view()))
        found.emplace_back(topic.name.str(), config.name.str());
  return found;
}

void warn(const Ineffective& settings, const protocol::CreateTopicsResponse& response) {
  for (const auto& [topic, setting] : settings)
    for (const auto& answer : response.topics)
      if (answer.error_code == 0 && answer.name == topic)
        warn_without_effect(metadata::ConfigResourceType::topic, topic, {std::string_view(setting)});
}

}  // namespace

void CreateTopicsHandler::handle(Call call, Request request) {
  cluster::ControllerGateway& controller = call.services().controller;
  auto ineffective = ineffective_settings(request);
  // The request borrows from the frame, which the callback keeps.
  auto quota = mutation_quota(call, first_strict_version);
  controller.create_topics(
      std::move(request),
      [call = std::move(call), ineffective = std::move(ineffective),
       quota](const protocol::CreateTopicsResponse& response) mutable {
        warn(ineffective, response);
        throttle(call, quota.get());
        call.reply(response);
      },
      quota);
}

}  // namespace barnabas::broker
