#include "broker/handlers/offset_delete.h"

#include "broker/handlers/coordinate.h"
#include "protocol/messages/offset_delete_response.h"

namespace barnabas::broker {

void OffsetDeleteHandler::handle(Call call, Request request) {
  const std::string_view group = request.group_id;
  coordinate(
      std::move(call), std::move(request), group, &coordinator::GroupShard::delete_offsets,
      [](const Request&, protocol::ErrorCode error) { return error_response<Request::Response>(error); });
}

}  // namespace barnabas::broker
