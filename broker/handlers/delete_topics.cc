#include "broker/handlers/delete_topics.h"

#include "broker/quotas/client_mutations.h"
#include "protocol/messages/delete_topics_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;

/// The first that knows THROTTLING_QUOTA_EXCEEDED.
constexpr int16_t first_strict_version = 5;

protocol::DeleteTopicsResponse refuse_all(const Call& call, const protocol::DeleteTopicsRequest& request) {
  protocol::DeleteTopicsResponse response;
  const ErrorCode error =
      call.version() < 3 ? ErrorCode::invalid_request : ErrorCode::topic_deletion_disabled;
  const auto refuse = [&](const std::optional<protocol::String>& name, const Uuid& id) {
    auto& answer = response.responses.emplace_back();
    answer.name = name;
    answer.topic_id = id;
    answer.error_code = to_wire(error);
    if (call.version() >= 5) answer.error_message = protocol::String(default_message(error));
  };
  for (const auto& topic : request.topics) refuse(topic.name, topic.topic_id);
  for (const auto& name : request.topic_names) refuse(name, Uuid{});
  return response;
}

}  // namespace

void DeleteTopicsHandler::handle(Call call, Request request) {
  if (!call.services().delete_topics) return call.reply(refuse_all(call, request));
  cluster::ControllerGateway& controller = call.services().controller;
  // The request borrows from the frame, which the callback keeps.
  auto quota = mutation_quota(call, first_strict_version);
  controller.delete_topics(
      std::move(request),
      [call = std::move(call), quota](const protocol::DeleteTopicsResponse& response) mutable {
        throttle(call, quota.get());
        call.reply(response);
      },
      quota);
}

}  // namespace barnabas::broker
