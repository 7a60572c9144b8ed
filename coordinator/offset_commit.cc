#include "coordinator/offset_commit.h"

#include "coordinator/classic_group.h"
#include "coordinator/offset_protocol.h"
#include "coordinator/offset_records.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using protocol::OffsetCommitRequest;
using protocol::OffsetCommitResponse;
using protocol::TxnOffsetCommitRequest;
using protocol::TxnOffsetCommitResponse;

// Kafka counts in units of UTF-16.
std::size_t utf16_length(std::string_view text) {
  std::size_t length = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) length += byte >= 0xf0 ? 2 : 1;
  }
  return length;
}

// Versions 2 to 4 let the client say how long the offset is to be kept.
TimestampMs expiry(const OffsetCommitRequest& request, TimestampMs now) {
  if (request.retention_time_ms == -1) return no_timestamp;
  int64_t at = 0;
  if (__builtin_add_overflow(now.value(), request.retention_time_ms, &at)) return no_timestamp;
  return TimestampMs(std::max<int64_t>(at, 0));
}

}  // namespace

bool OffsetProtocol::is_too_large(const std::optional<protocol::String>& metadata) const {
  const std::size_t limit = environment_.settings.offset_metadata_bytes_max;
  return metadata && metadata->size() > limit && utf16_length(*metadata) > limit;
}

OffsetCommitResponse refuse_commit(const OffsetCommitRequest& request, int16_t version,
                                   const metadata::MetadataImage& image, ErrorCode why) {
  return CommitTopics(request, version >= offset_commit_first_with_topic_ids, image).answer(why);
}

TxnOffsetCommitResponse refuse_commit(const TxnOffsetCommitRequest& request, int16_t version,
                                      const metadata::MetadataImage& image, ErrorCode why) {
  return CommitTopics(request, version >= txn_offset_commit_first_with_topic_ids, image).answer(why);
}

std::optional<TxnOffsetCommitResponse> answer_without_commits(const TxnOffsetCommitRequest& request,
                                                              int16_t version,
                                                              const metadata::MetadataImage& image) {
  CommitTopics topics(request, version >= txn_offset_commit_first_with_topic_ids, image);
  if (!topics.commits().empty()) return std::nullopt;
  return topics.answer(ErrorCode::none);
}

template <class Request>
ErrorCode OffsetProtocol::validate_commit(const RequestContext& context, const Request& request,
                                          const CommitTopics<Request>& topics, CommitKind kind) const {
  const int32_t epoch = request.generation_id_or_member_epoch;
  Group* group = groups_.find(request.group_id);
  if (group == nullptr) {
    // Somebody without membership; replay makes the group.
    if (epoch < 0) return ErrorCode::none;
    return context.version >= kind.first_with_group_id_not_found ? ErrorCode::group_id_not_found
                                                                 : ErrorCode::illegal_generation;
  }
  std::optional<std::string> instance;
  if (request.group_instance_id) instance = request.group_instance_id->str();
  ErrorCode refused =
      group->validate_offset_commit(request.member_id, instance, epoch, kind.transactional, context.version);
  if (refused == ErrorCode::none && !kind.transactional) group->note_alive(request.member_id, context.now);
  for (const auto& commit : topics.commits()) {
    if (refused != ErrorCode::none) break;
    if (is_too_large(commit.partition->committed_metadata)) continue;
    refused = group->validate_partition_commit(request.member_id, epoch, commit.image->id,
                                               commit.partition->partition_index);
  }
  const bool knows_stale = context.version >= kind.first_with_stale_member_epoch;
  return refused == ErrorCode::stale_member_epoch && !knows_stale ? ErrorCode::illegal_generation : refused;
}

template <class Request>
Decision OffsetProtocol::commit_as(const RequestContext& context, const Request& request,
                                   CommittedOffset offset, CommitKind kind,
                                   Reply<typename Request::Response> reply) {
  CommitTopics topics(request, context.version >= kind.first_with_topic_ids, *environment_.image);
  if (topics.commits().empty()) return Decision::answer(reply.with(topics.answer(ErrorCode::none)));
  if (const ErrorCode refused = validate_commit(context, request, topics, kind); refused != ErrorCode::none)
    return Decision::answer(reply.with(topics.answer(refused)));

  Decision decision;
  decision.records.reserve(topics.commits().size());
  offset.committed_at = context.now.wall;
  decision.replies.push_back(reply.with(topics.answer([&](const auto& commit) {
    const auto& asked = *commit.partition;
    if (is_too_large(asked.committed_metadata)) return ErrorCode::offset_metadata_too_large;
    offset.offset = asked.committed_offset;
    offset.leader_epoch = LeaderEpoch(asked.committed_leader_epoch);
    offset.metadata =
        asked.committed_metadata ? protocol::String::view_of(*asked.committed_metadata) : protocol::String();
    offset.topic_id = commit.image->id;
    decision.records.push_back(
        offset_record({request.group_id, commit.image->name, asked.partition_index}, offset));
    return ErrorCode::none;
  })));
  // With Kafka there is a group even if all of this is too large.
  if (decision.records.empty() && groups_.find(request.group_id) == nullptr) {
    decision.appended = [this, id = request.group_id.str(), now = context.now.wall] {
      if (groups_.find(id) == nullptr) groups_.put(std::make_unique<ClassicGroup>(id, now));
    };
  }
  return decision;
}

Decision OffsetProtocol::commit(const RequestContext& context, const OffsetCommitRequest& request,
                                Reply<OffsetCommitResponse> reply) {
  CommittedOffset offset;
  offset.expires_at = expiry(request, context.now.wall);
  return commit_as<OffsetCommitRequest>(context, request, offset,
                                        {.transactional = false,
                                         .first_with_topic_ids = offset_commit_first_with_topic_ids,
                                         .first_with_group_id_not_found = 9,
                                         .first_with_stale_member_epoch = 0},
                                        std::move(reply));
}

Decision OffsetProtocol::commit_in_transaction(const RequestContext& context,
                                               const TxnOffsetCommitRequest& request,
                                               Reply<TxnOffsetCommitResponse> reply) {
  constexpr int16_t first_with_ids = txn_offset_commit_first_with_topic_ids;
  Decision decision = commit_as<TxnOffsetCommitRequest>(context, request, {},
                                                        {.transactional = true,
                                                         .first_with_topic_ids = first_with_ids,
                                                         .first_with_group_id_not_found = first_with_ids,
                                                         .first_with_stale_member_epoch = first_with_ids},
                                                        std::move(reply));
  if (!decision.records.empty())
    decision.producer = {ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch)};
  return decision;
}

}  // namespace barnabas::coordinator
