#include "broker/handlers/create_partitions.h"

#include <set>
#include <string_view>

#include "broker/handlers/denied_topics.h"
#include "broker/quotas/client_mutations.h"
#include "protocol/messages/create_partitions_response.h"

namespace barnabas::broker {

void CreatePartitionsHandler::handle(Call call, Request request) {
  const Rights rights = call.rights();
  std::set<std::string_view> seen;
  std::set<std::string_view> doubled;
  for (const auto& topic : request.topics)
    if (!seen.insert(topic.name).second) doubled.insert(topic.name);
  auto denied = take_out(request.topics, [&](const auto& topic) {
    return !doubled.contains(topic.name) && !rights.may(Right::create_partitions_topic, topic.name);
  });
  cluster::ControllerGateway& controller = call.services().controller;
  /// The first that knows THROTTLING_QUOTA_EXCEEDED.
  constexpr int16_t first_strict_version = 3;
  auto quota = mutation_quota(call, first_strict_version);
  // The request borrows from the frame, which the callback keeps.
  controller.create_partitions(
      std::move(request),
      [call = std::move(call), quota,
       denied = std::move(denied)](protocol::CreatePartitionsResponse response) mutable {
        for (const auto& topic : denied) {
          auto& answer = response.results.emplace_back();
          answer.name = topic.name;
          answer.error_code = to_wire(protocol::ErrorCode::topic_authorization_failed);
          answer.error_message.reset();
        }
        throttle(call, quota.get());
        call.reply(response);
      },
      quota);
}

}  // namespace barnabas::broker
