#include "broker/handlers/offset_fetch.h"

#include "broker/handlers/coordinate.h"
#include "coordinator/offset_fetch.h"
#include "protocol/messages/offset_fetch_response.h"

namespace barnabas::broker {

void OffsetFetchHandler::handle(Call call, Request request) {
  using Group = protocol::OffsetFetchResponse::OffsetFetchResponseGroup;
  const int16_t version = call.version();
  // Answers borrow from these.
  const auto asked = std::make_shared<const std::vector<coordinator::OffsetProtocol::GroupToFetch>>(
      coordinator::groups_to_fetch(request, version));
  std::vector<std::string_view> ids;
  ids.reserve(asked->size());
  for (const auto& group : *asked) ids.push_back(group.group_id);
  coordinate_each<Group>(
      std::move(call), std::move(request), ids,
      [asked](coordinator::GroupShard& shard, const coordinator::RequestContext& context,
              const Request& wanted, std::size_t i, coordinator::Reply<Group> reply) {
        return shard.fetch_offsets(context, (*asked)[i], wanted.require_stable, std::move(reply));
      },
      [asked, version](const Request&, std::size_t i, protocol::ErrorCode error) {
        return coordinator::refuse_fetch((*asked)[i], version, error);
      },
      [asked, version](const Request&, std::vector<Group>&& groups) {
        return coordinator::fetch_response(std::move(groups), version);
      },
      EmptyGroupId::allowed);
}

}  // namespace barnabas::broker
