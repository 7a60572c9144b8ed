#pragma once

#include <optional>

#include "metadata/image.h"
#include "protocol/error_code.h"
#include "protocol/messages/offset_commit_request.h"
#include "protocol/messages/offset_commit_response.h"
#include "protocol/messages/txn_offset_commit_request.h"
#include "protocol/messages/txn_offset_commit_response.h"

namespace barnabas::coordinator {

/// The first versions in which topics go by their ids (KIP-848).
inline constexpr int16_t offset_commit_first_with_topic_ids = 10;
inline constexpr int16_t txn_offset_commit_first_with_topic_ids = 6;

/// Nothing was committed, for this reason. Partitions that do not exist are told so all the same. Borrows
/// from the request.
protocol::OffsetCommitResponse refuse_commit(const protocol::OffsetCommitRequest& request, int16_t version,
                                             const metadata::MetadataImage& image, protocol::ErrorCode why);
protocol::TxnOffsetCommitResponse refuse_commit(const protocol::TxnOffsetCommitRequest& request,
                                                int16_t version, const metadata::MetadataImage& image,
                                                protocol::ErrorCode why);

/// The answer when there is nothing to ask the group for: no partition that is named exists.
std::optional<protocol::TxnOffsetCommitResponse> answer_without_commits(
    const protocol::TxnOffsetCommitRequest& request, int16_t version, const metadata::MetadataImage& image);

}  // namespace barnabas::coordinator
