#include "broker/handlers/offset_delete.h"

#include "broker/handlers/coordinate.h"
#include "broker/handlers/denied_topics.h"
#include "protocol/messages/offset_delete_response.h"

namespace barnabas::broker {

void OffsetDeleteHandler::handle(Call call, Request request) {
  const std::string_view group = request.group_id;
  const Rights rights = call.rights();
  if (!rights.may(Right::offset_delete_group, group))
    return call.reply(error_response<Request::Response>(protocol::ErrorCode::group_authorization_failed));
  auto denied = take_out(
      request.topics, [&](const auto& topic) { return !rights.may(Right::offset_delete_topic, topic.name); });
  coordinate(
      std::move(call), std::move(request), group, &coordinator::GroupShard::delete_offsets,
      [](const Request&, protocol::ErrorCode error) { return error_response<Request::Response>(error); },
      [denied = std::move(denied)](protocol::OffsetDeleteResponse& response) {
        if (response.error_code != 0) return;
        for (const auto& topic : denied)
          add_failed_topic(response.topics, topic, protocol::ErrorCode::topic_authorization_failed);
      });
}

}  // namespace barnabas::broker
