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
  if (!rights.may(Right::offset_commit_group, group)) {
    protocol::OffsetCommitResponse response;
    for (const auto& topic : request.topics)
      add_failed_topic(response.topics, topic, protocol::ErrorCode::group_authorization_failed);
    return call.reply(response);
  }
  auto refused = take_out_refused(request.topics, version >= coordinator::offset_commit_first_with_topic_ids,
                                  *image, rights, Right::offset_commit_topic);
  const bool any_refused = !refused.empty();
  auto add_refused = [refused = std::move(refused)](protocol::OffsetCommitResponse& response) {
    for (const auto& topic : refused) add_failed_topic(response.topics, topic.asked, topic.error);
  };
  if (request.topics.empty() && any_refused) {
    protocol::OffsetCommitResponse response;
    add_refused(response);
    return call.reply(response);
  }
  coordinate(
      std::move(call), std::move(request), group, &coordinator::GroupShard::commit_offsets,
      [image = std::move(image), version](const Request& wanted, protocol::ErrorCode error) {
        return coordinator::refuse_commit(wanted, version, *image, error);
      },
      std::move(add_refused));
}

}  // namespace barnabas::broker
