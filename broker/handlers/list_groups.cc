#include "broker/handlers/list_groups.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "broker/handlers/coordinate.h"
#include "protocol/messages/list_groups_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::ListGroupsRequest;
using protocol::ListGroupsResponse;
using Listed = std::vector<ListGroupsResponse::ListedGroup>;

bool equal_but_case(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  });
}

bool passes(const std::vector<protocol::String>& filter, std::string_view value) {
  return filter.empty() || std::ranges::any_of(filter, [&](const auto& wanted) {
           return equal_but_case(trimmed(wanted), value);
         });
}

Listed list(const coordinator::GroupShard& shard, const ListGroupsRequest& request) {
  Listed listed;
  for (const auto& [id, group] : shard.groups()) {
    const std::string_view type = coordinator::to_string(group->type());
    if (!passes(request.states_filter, group->state_name()) || !passes(request.types_filter, type)) continue;
    auto& item = listed.emplace_back();
    item.group_id = protocol::String(id);
    item.protocol_type = protocol::String(group->protocol_type());
    item.group_state = protocol::String(group->state_name());
    item.group_type = protocol::String(type);
  }
  return listed;
}

ListGroupsResponse join(std::vector<std::expected<Listed, ErrorCode>>&& shards) {
  ListGroupsResponse response;
  for (auto& listed : shards) {
    if (listed) {
      std::ranges::move(*listed, std::back_inserter(response.groups));
    } else if (listed.error() != ErrorCode::not_coordinator) {
      response.error_code = to_wire(listed.error());
    }
  }
  if (response.error_code != 0) response.groups.clear();
  return response;
}

}  // namespace

void ListGroupsHandler::handle(Call call, Request request) {
  const Rights rights = call.rights();
  const bool all = rights.may(Right::list_all_groups);
  coordinate_all<Listed>(
      std::move(call), std::move(request),
      [](coordinator::GroupShard& shard, const coordinator::RequestContext&, const Request& wanted,
         coordinator::Reply<Listed> reply) {
        return coordinator::Decision::answer(reply.with(list(shard, wanted)));
      },
      [rights, all](const Request&, auto&& shards) {
        auto response = join(std::move(shards));
        if (!all)
          std::erase_if(response.groups,
                        [&](const auto& group) { return !rights.may(Right::list_group, group.group_id); });
        return response;
      });
}

}  // namespace barnabas::broker
