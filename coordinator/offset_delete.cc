#include "coordinator/offset_protocol.h"
#include "coordinator/offset_records.h"
#include "coordinator/topic_answers.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using protocol::OffsetDeleteRequest;
using protocol::OffsetDeleteResponse;
using protocol::to_wire;
using AskedTopic = OffsetDeleteRequest::OffsetDeleteRequestTopic;
using AnsweredTopic = OffsetDeleteResponse::OffsetDeleteResponseTopic;
using Answers = TopicAnswers<AnsweredTopic, AskedTopic>;

struct Deletion {
  const AskedTopic* topic;
  int32_t partition;
};

void add(AnsweredTopic& topic, int32_t partition, ErrorCode error) {
  auto& answer = topic.partitions.emplace_back();
  answer.partition_index = partition;
  answer.error_code = to_wire(error);
}

// What is asked for partitions that exist; the others are answered.
std::vector<Deletion> known_partitions(const OffsetDeleteRequest& request,
                                       const metadata::MetadataImage& image, Answers& answers) {
  std::vector<Deletion> known;
  for (const AskedTopic& asked : request.topics) {
    const auto* topic = image.topic(asked.name);
    if (topic == nullptr) answers.failed(asked);
    for (const auto& partition : asked.partitions) {
      const int32_t index = partition.partition_index;
      if (topic != nullptr && topic->partition(PartitionIndex(index)) != nullptr) {
        known.push_back({&asked, index});
      } else {
        add(answers.failed(asked), index, ErrorCode::unknown_topic_or_partition);
      }
    }
  }
  return known;
}

}  // namespace

Decision OffsetProtocol::delete_offsets(const RequestContext&, const OffsetDeleteRequest& request,
                                        Reply<OffsetDeleteResponse> reply) {
  OffsetDeleteResponse response;
  const auto refuse = [&](ErrorCode why) {
    response.error_code = to_wire(why);
    return Decision::answer(reply.with(std::move(response)));
  };
  if (request.group_id.empty()) return refuse(ErrorCode::invalid_group_id);
  const Group* group = groups_.find(request.group_id);
  if (group == nullptr) return refuse(ErrorCode::group_id_not_found);
  if (const auto why = group->validate_offset_delete(); why != ErrorCode::none) return refuse(why);

  Decision decision;
  Answers answers;
  const AskedTopic* last = nullptr;
  AnsweredTopic* answer = nullptr;
  bool is_subscribed = false;
  for (const auto& [topic, partition] : known_partitions(request, *environment_.image, answers)) {
    if (topic != last) {
      answer = &answers.other(*topic);
      is_subscribed = group->is_subscribed_to(topic->name);
      last = topic;
    }
    add(*answer, partition, is_subscribed ? ErrorCode::group_subscribed_to_topic : ErrorCode::none);
    const OffsetKey key{request.group_id, topic->name, partition};
    if (!is_subscribed && (store_.find(key) != nullptr || store_.is_pending(key)))
      decision.records.push_back(offset_tombstone(key));
  }
  response.topics = answers.take();
  decision.replies.push_back(reply.with(std::move(response)));
  return decision;
}

void OffsetProtocol::tombstone_all(const std::string& group, std::vector<Record>& records) const {
  if (const auto* committed = store_.committed().find(group)) {
    for (const auto& [topic, partitions] : *committed)
      for (const auto& [index, offset] : partitions)
        records.push_back(offset_tombstone({group, topic, index}));
  }
  // Transactions that are still open must not bring anything back.
  if (const auto* pending = store_.pending().find(group)) {
    for (const auto& [topic, partitions] : *pending)
      for (const auto& [index, transactions] : partitions)
        if (const OffsetKey key{group, topic, index}; store_.find(key) == nullptr)
          records.push_back(offset_tombstone(key));
  }
}

Decision OffsetProtocol::delete_group(const protocol::String& id, Reply<DeletedGroup> reply) {
  DeletedGroup deleted;
  deleted.group_id = id;
  const Group* group = groups_.find(id);
  const auto refused = group == nullptr ? ErrorCode::group_id_not_found : group->validate_delete();
  deleted.error_code = to_wire(refused);
  Decision decision;
  if (refused == ErrorCode::none) {
    tombstone_all(group->id(), decision.records);
    group->tombstones(decision.records);
  }
  decision.replies.push_back(reply.with(std::move(deleted)));
  return decision;
}

}  // namespace barnabas::coordinator
