#include "broker/handlers/consumer_group_describe.h"

#include "broker/handlers/consumer_group_heartbeat.h"
#include "broker/handlers/coordinate.h"
#include "broker/handlers/topic_description.h"
#include "protocol/messages/consumer_group_describe_response.h"

namespace barnabas::broker {
namespace {

using protocol::ConsumerGroupDescribeResponse;
using protocol::ErrorCode;
using Described = ConsumerGroupDescribeResponse::DescribedGroup;
using Request = protocol::ConsumerGroupDescribeRequest;

Described failed(const Request& request, std::size_t at, ErrorCode error) {
  Described group;
  group.group_id = request.group_ids[at];
  group.error_code = to_wire(error);
  return group;
}

}  // namespace

void ConsumerGroupDescribeHandler::handle(Call call, Request request) {
  if (!consumer_protocol_is_on(call)) {
    ConsumerGroupDescribeResponse response;
    for (std::size_t i = 0; i < request.group_ids.size(); ++i)
      response.groups.push_back(failed(request, i, ErrorCode::unsupported_version));
    return call.reply(response);
  }
  const std::vector<std::string_view> groups(request.group_ids.begin(), request.group_ids.end());
  coordinate_each<Described>(
      std::move(call), std::move(request), groups,
      [](coordinator::GroupShard& shard, const coordinator::RequestContext&, const Request& asked,
         std::size_t at, coordinator::Reply<Described> reply) {
        return shard.describe_consumer_group(asked.group_ids[at], std::move(reply));
      },
      failed,
      [](const Request& asked, std::vector<Described>&& described) {
        ConsumerGroupDescribeResponse response;
        response.groups = std::move(described);
        if (asked.include_authorized_operations) allow_all_operations(response.groups);
        return response;
      });
}

}  // namespace barnabas::broker
