#pragma once

#include "metadata/image.h"
#include "protocol/error_code.h"
#include "protocol/messages/offset_commit_request.h"
#include "protocol/messages/offset_commit_response.h"

namespace barnabas::coordinator {

/// The first version in which topics go by their ids (KIP-848).
inline constexpr int16_t offset_commit_first_with_topic_ids = 10;

/// Nothing was committed, for this reason. Partitions that do not exist are told so all the same. Borrows
/// from the request.
protocol::OffsetCommitResponse refuse_commit(const protocol::OffsetCommitRequest& request, int16_t version,
                                             const metadata::MetadataImage& image, protocol::ErrorCode why);

}  // namespace barnabas::coordinator
