#include "coordinator/offset_commit.h"

#include "coordinator/classic_group.h"
#include "coordinator/offset_protocol.h"
#include "coordinator/offset_records.h"
#include "coordinator/topic_answers.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using protocol::OffsetCommitRequest;
using protocol::OffsetCommitResponse;
using protocol::to_wire;
using AskedTopic = OffsetCommitRequest::OffsetCommitRequestTopic;
using AskedPartition = OffsetCommitRequest::OffsetCommitRequestPartition;
using AnsweredTopic = OffsetCommitResponse::OffsetCommitResponseTopic;
using Answers = TopicAnswers<AnsweredTopic, AskedTopic>;

struct Commit {
  const AskedTopic* topic;
  const AskedPartition* partition;
  const metadata::TopicImage* image;
};

void add(AnsweredTopic& topic, int32_t partition, ErrorCode error) {
  auto& answer = topic.partitions.emplace_back();
  answer.partition_index = partition;
  answer.error_code = to_wire(error);
}

// What is asked for partitions that exist; the others are answered.
std::vector<Commit> known_partitions(const OffsetCommitRequest& request, int16_t version,
                                     const metadata::MetadataImage& image, Answers& answers) {
  const bool by_id = version >= offset_commit_first_with_topic_ids;
  std::vector<Commit> known;
  for (const AskedTopic& asked : request.topics) {
    const auto* topic = by_id ? image.topic(asked.topic_id) : image.topic(asked.name);
    if (topic == nullptr) {
      AnsweredTopic& answer = answers.failed(asked);
      for (const auto& partition : asked.partitions)
        add(answer, partition.partition_index,
            by_id ? ErrorCode::unknown_topic_id : ErrorCode::unknown_topic_or_partition);
      continue;
    }
    for (const auto& partition : asked.partitions) {
      if (topic->partition(PartitionIndex(partition.partition_index)) != nullptr) {
        known.push_back({&asked, &partition, topic});
      } else {
        add(answers.failed(asked), partition.partition_index, ErrorCode::unknown_topic_or_partition);
      }
    }
  }
  return known;
}

// Answers for `commits`, which are in the order of the request.
template <class ErrorOf>
OffsetCommitResponse answer(const std::vector<Commit>& commits, Answers& answers, ErrorOf&& error_of) {
  const AskedTopic* last = nullptr;
  AnsweredTopic* topic = nullptr;
  for (const Commit& commit : commits) {
    if (commit.topic != last) topic = &answers.other(*commit.topic);
    last = commit.topic;
    add(*topic, commit.partition->partition_index, error_of(commit));
  }
  OffsetCommitResponse response;
  response.topics = answers.take();
  return response;
}

// Kafka counts in units of UTF-16.
std::size_t utf16_length(std::string_view text) {
  std::size_t length = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) length += byte >= 0xf0 ? 2 : 1;
  }
  return length;
}

bool is_too_large(const std::optional<protocol::String>& metadata, std::size_t limit) {
  return metadata && metadata->size() > limit && utf16_length(*metadata) > limit;
}

// Versions 2 to 4 let the client say how long the offset is to be kept.
TimestampMs expiry(const OffsetCommitRequest& request, TimestampMs now) {
  if (request.retention_time_ms == -1) return no_timestamp;
  int64_t at = 0;
  if (__builtin_add_overflow(now.value(), request.retention_time_ms, &at)) return no_timestamp;
  return TimestampMs(std::max<int64_t>(at, 0));
}

}  // namespace

OffsetCommitResponse refuse_commit(const OffsetCommitRequest& request, int16_t version,
                                   const metadata::MetadataImage& image, ErrorCode why) {
  Answers answers(version >= offset_commit_first_with_topic_ids);
  const auto known = known_partitions(request, version, image, answers);
  return answer(known, answers, [why](const Commit&) { return why; });
}

ErrorCode OffsetProtocol::validate_commit(const RequestContext& context,
                                          const OffsetCommitRequest& request) const {
  const Group* group = groups_.find(request.group_id);
  if (group == nullptr) {
    // Somebody without membership; replay makes the group.
    if (request.generation_id_or_member_epoch < 0) return ErrorCode::none;
    return context.version >= 9 ? ErrorCode::group_id_not_found : ErrorCode::illegal_generation;
  }
  std::optional<std::string> instance;
  if (request.group_instance_id) instance = request.group_instance_id->str();
  return group->validate_offset_commit(request.member_id, instance, request.generation_id_or_member_epoch,
                                       /*transactional=*/false, context.version);
}

Decision OffsetProtocol::commit(const RequestContext& context, const OffsetCommitRequest& request,
                                Reply<OffsetCommitResponse> reply) {
  Answers answers(context.version >= offset_commit_first_with_topic_ids);
  const auto commits = known_partitions(request, context.version, *environment_.image, answers);
  if (commits.empty())
    return Decision::answer(
        reply.with(answer(commits, answers, [](const Commit&) { return ErrorCode::none; })));

  const auto limit = environment_.settings.offset_metadata_bytes_max;
  const auto too_large = [&](const Commit& commit) {
    return is_too_large(commit.partition->committed_metadata, limit);
  };
  ErrorCode refused = validate_commit(context, request);
  Group* group = groups_.find(request.group_id);
  if (refused == ErrorCode::none && group != nullptr) {
    group->note_alive(request.member_id, context.now);
    for (const Commit& commit : commits) {
      if (refused != ErrorCode::none) break;
      if (too_large(commit)) continue;
      refused = group->validate_partition_commit(request.member_id, request.generation_id_or_member_epoch,
                                                 commit.image->id, commit.partition->partition_index);
    }
  }
  if (refused != ErrorCode::none)
    return Decision::answer(
        reply.with(answer(commits, answers, [refused](const Commit&) { return refused; })));

  Decision decision;
  decision.records.reserve(commits.size());
  CommittedOffset offset;
  offset.committed_at = context.now.wall;
  offset.expires_at = expiry(request, context.now.wall);
  const auto error_of = [&](const Commit& commit) {
    if (too_large(commit)) return ErrorCode::offset_metadata_too_large;
    const AskedPartition& asked = *commit.partition;
    offset.offset = asked.committed_offset;
    offset.leader_epoch = LeaderEpoch(asked.committed_leader_epoch);
    offset.metadata =
        asked.committed_metadata ? protocol::String::view_of(*asked.committed_metadata) : protocol::String();
    offset.topic_id = commit.image->id;
    decision.records.push_back(
        offset_record({request.group_id, commit.image->name, asked.partition_index}, offset));
    return ErrorCode::none;
  };
  decision.replies.push_back(reply.with(answer(commits, answers, error_of)));
  // With Kafka there is a group even if all of this is too large.
  if (group == nullptr && decision.records.empty()) {
    decision.appended = [this, id = request.group_id.str(), now = context.now.wall] {
      if (groups_.find(id) == nullptr) groups_.put(std::make_unique<ClassicGroup>(id, now));
    };
  }
  return decision;
}

}  // namespace barnabas::coordinator
