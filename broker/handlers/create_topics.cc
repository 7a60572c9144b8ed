#include "broker/handlers/create_topics.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/handlers/config_resources.h"
#include "broker/handlers/denied_topics.h"
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

/// Names that the request has more than once: the controller refuses them.
std::set<std::string_view> doubled_names(const protocol::CreateTopicsRequest& request) {
  std::set<std::string_view> seen;
  std::set<std::string_view> doubled;
  for (const auto& topic : request.topics)
    if (!seen.insert(topic.name).second) doubled.insert(topic.name);
  return doubled;
}

using Topics = std::vector<protocol::CreateTopicsRequest::CreatableTopic>;

/// Takes the topics out that the sender may not create.
Topics take_denied(const Rights& rights, protocol::CreateTopicsRequest& request) {
  if (rights.may(Right::create_topics_anywhere)) return {};
  const auto doubled = doubled_names(request);
  return take_out(request.topics, [&](const auto& topic) {
    return topic.name != "__cluster_metadata" && !doubled.contains(topic.name) &&
           !rights.may(Right::create_topic, topic.name);
  });
}

void add_denied(const Topics& denied, protocol::CreateTopicsResponse& response) {
  for (const auto& topic : denied) {
    auto& answer = response.topics.emplace_back();
    answer.name = topic.name;
    answer.error_code = to_wire(protocol::ErrorCode::topic_authorization_failed);
    answer.error_message = protocol::String("Authorization failed.");
    answer.configs.emplace();
  }
}

/// Who may not read a topic's settings is not told those of a new one either.
void hide_configs(const Rights& rights, protocol::CreateTopicsResponse& response) {
  if (!rights.limited()) return;
  for (auto& answer : response.topics) {
    if (answer.error_code != 0 || rights.may(Right::create_topic_describe_configs, answer.name)) continue;
    answer.topic_config_error_code = to_wire(protocol::ErrorCode::topic_authorization_failed);
    answer.num_partitions = -1;
    answer.replication_factor = -1;
    answer.configs.emplace();
  }
}

}  // namespace

void CreateTopicsHandler::handle(Call call, Request request) {
  cluster::ControllerGateway& controller = call.services().controller;
  const Rights rights = call.rights();
  auto denied = take_denied(rights, request);
  auto ineffective = ineffective_settings(request);
  // The request borrows from the frame, which the callback keeps.
  auto quota = mutation_quota(call, first_strict_version);
  controller.create_topics(
      std::move(request),
      [call = std::move(call), ineffective = std::move(ineffective), quota, rights,
       denied = std::move(denied)](protocol::CreateTopicsResponse response) mutable {
        warn(ineffective, response);
        hide_configs(rights, response);
        add_denied(denied, response);
        throttle(call, quota.get());
        call.reply(response);
      },
      quota);
}

}  // namespace barnabas::broker
