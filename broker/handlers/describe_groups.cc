#include "broker/handlers/describe_groups.h"

#include "broker/handlers/coordinate.h"
#include "broker/handlers/topic_description.h"
#include "coordinator/classic_answers.h"
#include "protocol/messages/describe_groups_response.h"

namespace barnabas::broker {
namespace {

using protocol::DescribeGroupsRequest;
using protocol::DescribeGroupsResponse;
using protocol::ErrorCode;
using Described = DescribeGroupsResponse::DescribedGroup;

Described failed(std::string_view group, ErrorCode error) {
  Described described;
  described.error_code = to_wire(error);
  described.group_id = group;
  return described;
}

DescribeGroupsResponse join(const DescribeGroupsRequest& request, const Rights& rights,
                            std::vector<Described>&& groups) {
  DescribeGroupsResponse response;
  response.groups = std::move(groups);
  if (request.include_authorized_operations) add_operations(response.groups, rights);
  return response;
}

}  // namespace

void DescribeGroupsHandler::handle(Call call, Request request) {
  const int16_t version = call.version();
  const Rights rights = call.rights();
  const std::vector<std::string_view> groups(request.groups.begin(), request.groups.end());
  coordinate_each<Described>(
      std::move(call), std::move(request), groups,
      [](coordinator::GroupShard& shard, const coordinator::RequestContext& context,
         const DescribeGroupsRequest& asked, std::size_t i, coordinator::Reply<Described> reply) {
        return shard.describe_group(context, asked.groups[i], std::move(reply));
      },
      [version](const DescribeGroupsRequest& asked, std::size_t i, ErrorCode error) {
        // There is no group with an empty id.
        if (error == ErrorCode::invalid_group_id) return coordinator::no_such_group(version, asked.groups[i]);
        return failed(asked.groups[i], error);
      },
      [rights](const DescribeGroupsRequest& asked, std::vector<Described>&& parts) {
        return join(asked, rights, std::move(parts));
      },
      EmptyGroupId::refused, refused_keys(rights, Right::describe_group, groups));
}

}  // namespace barnabas::broker
