#pragma once

#include <vector>

#include "protocol/error_code.h"
#include "protocol/messages/offset_fetch_request.h"
#include "protocol/messages/offset_fetch_response.h"

/// OffsetFetch asks for one group up to version 7 and for many from 8 on; coordinators know only the latter.
namespace barnabas::coordinator {

inline constexpr int16_t offset_fetch_first_with_topic_ids = 10;

/// The groups that a request of this version asks for, taken out of it; their strings still borrow from its
/// frame.
std::vector<protocol::OffsetFetchRequest::OffsetFetchRequestGroup> groups_to_fetch(
    protocol::OffsetFetchRequest& request, int16_t version);

/// Nothing is told of the group, for this reason: version 1 says so in each partition, later ones of the
/// group. Borrows from `group`.
protocol::OffsetFetchResponse::OffsetFetchResponseGroup refuse_fetch(
    const protocol::OffsetFetchRequest::OffsetFetchRequestGroup& group, int16_t version,
    protocol::ErrorCode why);

/// The response of this version for all groups of the request.
protocol::OffsetFetchResponse fetch_response(
    std::vector<protocol::OffsetFetchResponse::OffsetFetchResponseGroup> groups, int16_t version);

}  // namespace barnabas::coordinator
