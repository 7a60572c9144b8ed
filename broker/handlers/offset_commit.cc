#include "broker/handlers/offset_commit.h"

#include "broker/handlers/coordinate.h"
#include "coordinator/offset_commit.h"
#include "protocol/messages/offset_commit_response.h"

namespace barnabas::broker {

void OffsetCommitHandler::handle(Call call, Request request) {
  const std::string_view group = request.group_id;
  const int16_t version = call.version();
  auto image = call.services().metadata.current();
  coordinate(std::move(call), std::move(request), group, &coordinator::GroupShard::commit_offsets,
             [image = std::move(image), version](const Request& wanted, protocol::ErrorCode error) {
               return coordinator::refuse_commit(wanted, version, *image, error);
             });
}

}  // namespace barnabas::broker
