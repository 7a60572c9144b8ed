#include "broker/handlers/offset_commit.h"

#include "broker/handlers/coordinate.h"
#include "broker/handlers/denied_topics.h"
#include "coordinator/offset_commit.h"
#include "protocol/messages/offset_commit_response.h"

namespace barnabas::broker {

void OffsetCommitHandler::handle(Call call, Request request) {
  const std::string_view group = request.group_id;
  const int16_t version = call.version();
  auto image = call.services().metadata.current();
  const Rights rights = call.rights();
  const auto refuse = [](const auto& topics, protocol::ErrorCode error) {
    protocol::OffsetCommitResponse response;
    for (const auto& topic : topics) add_failed_topic(response.topics, topic, error);
    return response;
  };
  if (!rights.may(Right::offset_commit_group, group))
    return call.reply(refuse(request.topics, protocol::ErrorCode::group_authorization_failed));
  auto denied = take_out(request.topics, [&](const auto& topic) {
    const auto name =
        name_of_topic(topic, version >= coordinator::offset_commit_first_with_topic_ids, *image);
    return name && !rights.may(Right::offset_commit_topic, *name);
  });
  constexpr auto topic_denied = protocol::ErrorCode::topic_authorization_failed;
  if (request.topics.empty() && !denied.empty()) return call.reply(refuse(denied, topic_denied));
  coordinate(
      std::move(call), std::move(request), group, &coordinator::GroupShard::commit_offsets,
      [image = std::move(image), version](const Request& wanted, protocol::ErrorCode error) {
        return coordinator::refuse_commit(wanted, version, *image, error);
      },
      [denied = std::move(denied)](protocol::OffsetCommitResponse& response) {
        for (const auto& topic : denied) add_failed_topic(response.topics, topic, topic_denied);
      });
}

}  // namespace barnabas::broker
