#include "broker/handlers/offset_delete.h"

#include "broker/handlers/coordinate.h"
#include "protocol/messages/offset_delete_response.h"

namespace barnabas::broker {

void OffsetDeleteHandler::handle(Call call, Request request) {
  const std::string_view group = request.group_id;
  coordinate(
      std::move(call), std::move(request), group,
      [](coordinator::GroupShard& shard, const coordinator::RequestContext& context, const Request& wanted,
         coordinator::Reply<Request::Response> reply) {
        return shard.delete_offsets(context, wanted, std::move(reply));
      },
      [](const Request&, protocol::ErrorCode error) {
        Request::Response response;
        response.error_code = to_wire(error);
        return response;
      });
}

}  // namespace barnabas::broker
