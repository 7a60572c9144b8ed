#include "broker/handlers/join_group.h"

#include "broker/handlers/coordinate.h"
#include "coordinator/classic_answers.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::JoinGroupRequest;
using protocol::JoinGroupResponse;
using JoinReply = coordinator::Reply<JoinGroupResponse>;

constexpr int16_t null_protocol_name_since = 7;

JoinGroupResponse in_version(int16_t version, JoinGroupResponse response) {
  if (version < null_protocol_name_since && !response.protocol_name) response.protocol_name.emplace();
  return response;
}

JoinReply in_version(int16_t version, JoinReply reply) {
  return JoinReply(
      [version, reply = std::move(reply)](std::expected<JoinGroupResponse, ErrorCode> answer) mutable {
        if (answer) {
          reply.with(in_version(version, std::move(*answer)))(ErrorCode::none);
        } else {
          reply.with_error(answer.error())(ErrorCode::none);
        }
      });
}

}  // namespace

void JoinGroupHandler::handle(Call call, Request request) {
  const int16_t version = call.version();
  if (!call.rights().may(Right::join_group, request.group_id))
    return call.reply(
        in_version(version, coordinator::join_refused(ErrorCode::group_authorization_failed, "")));
  if (request.group_id.empty())
    return call.reply(
        in_version(version, coordinator::join_refused(ErrorCode::invalid_group_id, request.member_id)));
  const std::string_view group = request.group_id;
  coordinate(
      std::move(call), std::move(request), group,
      [](coordinator::GroupShard& shard, const coordinator::RequestContext& context,
         const JoinGroupRequest& asked, JoinReply reply) {
        return shard.join_group(context, asked, in_version(context.version, std::move(reply)));
      },
      [version](const JoinGroupRequest&, ErrorCode error) {
        return in_version(version, coordinator::join_refused(error, ""));
      });
}

}  // namespace barnabas::broker
