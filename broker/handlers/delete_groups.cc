#include "broker/handlers/delete_groups.h"

#include <unordered_set>

#include "broker/handlers/coordinate.h"
#include "protocol/messages/delete_groups_response.h"

namespace barnabas::broker {

void DeleteGroupsHandler::handle(Call call, Request request) {
  using Deleted = coordinator::OffsetProtocol::DeletedGroup;
  std::vector<protocol::String> ids;
  std::vector<std::string_view> groups;
  std::unordered_set<std::string_view> seen;
  for (const protocol::String& id : request.groups_names) {
    if (!seen.insert(id.view()).second) continue;
    ids.push_back(protocol::String::view_of(id));
    groups.push_back(id.view());
  }
  const auto refused = refused_keys(call.rights(), Right::delete_group, groups);
  coordinate_each<Deleted>(
      std::move(call), std::move(request), groups,
      [ids](coordinator::GroupShard& shard, const coordinator::RequestContext&, const Request&, std::size_t i,
            coordinator::Reply<Deleted> reply) { return shard.delete_group(ids[i], std::move(reply)); },
      [ids](const Request&, std::size_t i, protocol::ErrorCode error) {
        Deleted failed;
        failed.group_id = ids[i];
        failed.error_code = to_wire(error);
        return failed;
      },
      [](const Request&, std::vector<Deleted>&& deleted) {
        protocol::DeleteGroupsResponse response;
        response.results = std::move(deleted);
        return response;
      },
      EmptyGroupId::allowed, refused);
}

}  // namespace barnabas::broker
