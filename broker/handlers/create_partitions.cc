#include "broker/handlers/create_partitions.h"

#include "broker/quotas/client_mutations.h"
#include "protocol/messages/create_partitions_response.h"

namespace barnabas::broker {

void CreatePartitionsHandler::handle(Call call, Request request) {
  cluster::ControllerGateway& controller = call.services().controller;
  /// The first that knows THROTTLING_QUOTA_EXCEEDED.
  constexpr int16_t first_strict_version = 3;
  auto quota = mutation_quota(call, first_strict_version);
  // The request borrows from the frame, which the callback keeps.
  controller.create_partitions(
      std::move(request),
      [call = std::move(call), quota](const protocol::CreatePartitionsResponse& response) mutable {
        throttle(call, quota.get());
        call.reply(response);
      },
      quota);
}

}  // namespace barnabas::broker
