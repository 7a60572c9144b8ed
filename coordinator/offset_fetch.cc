#include "coordinator/offset_fetch.h"

#include "coordinator/offset_protocol.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using protocol::OffsetFetchRequest;
using protocol::OffsetFetchResponse;
using protocol::to_wire;
using AskedGroup = OffsetFetchRequest::OffsetFetchRequestGroup;
using AskedTopic = OffsetFetchRequest::OffsetFetchRequestTopics;
using AnsweredGroup = OffsetFetchResponse::OffsetFetchResponseGroup;
using AnsweredTopic = OffsetFetchResponse::OffsetFetchResponseTopics;
using AnsweredPartition = OffsetFetchResponse::OffsetFetchResponsePartitions;

constexpr int16_t first_with_many_groups = 8;
constexpr int16_t first_with_group_errors = 2;

AnsweredPartition nothing(int32_t index, ErrorCode error = ErrorCode::none) {
  AnsweredPartition partition;
  partition.partition_index = index;
  partition.committed_offset = -1;
  partition.error_code = to_wire(error);
  return partition;
}

AnsweredPartition told(int32_t index, const CommittedOffset& offset) {
  AnsweredPartition partition;
  partition.partition_index = index;
  partition.committed_offset = offset.offset;
  partition.committed_leader_epoch = offset.leader_epoch.value();
  partition.metadata = offset.metadata.owned();
  return partition;
}

}  // namespace

std::vector<AskedGroup> groups_to_fetch(OffsetFetchRequest& request, int16_t version) {
  if (version >= first_with_many_groups) return std::move(request.groups);
  AskedGroup group;
  group.group_id = request.group_id;
  group.topics.reset();
  if (request.topics) {
    group.topics.emplace();
    group.topics->reserve(request.topics->size());
    for (auto& asked : *request.topics) {
      AskedTopic& topic = group.topics->emplace_back();
      topic.name = asked.name;
      topic.partition_indexes = std::move(asked.partition_indexes);
    }
  }
  return {std::move(group)};
}

AnsweredGroup refuse_fetch(const AskedGroup& group, int16_t version, ErrorCode why) {
  AnsweredGroup answer;
  answer.group_id = group.group_id;
  answer.error_code = to_wire(why);
  if (version >= first_with_group_errors || !group.topics) return answer;
  for (const AskedTopic& asked : *group.topics) {
    AnsweredTopic& topic = answer.topics.emplace_back();
    topic.name = asked.name;
    for (const int32_t index : asked.partition_indexes) topic.partitions.push_back(nothing(index, why));
  }
  return answer;
}

OffsetFetchResponse fetch_response(std::vector<AnsweredGroup> groups, int16_t version) {
  OffsetFetchResponse response;
  if (version >= first_with_many_groups) {
    response.groups = std::move(groups);
    return response;
  }
  if (groups.empty()) return response;
  AnsweredGroup& group = groups.front();
  response.error_code = group.error_code;
  response.topics.reserve(group.topics.size());
  for (AnsweredTopic& from : group.topics) {
    auto& topic = response.topics.emplace_back();
    topic.name = std::move(from.name);
    topic.partitions.reserve(from.partitions.size());
    for (AnsweredPartition& partition : from.partitions) {
      auto& to = topic.partitions.emplace_back();
      to.partition_index = partition.partition_index;
      to.committed_offset = partition.committed_offset;
      to.committed_leader_epoch = partition.committed_leader_epoch;
      to.metadata = std::move(partition.metadata);
      to.error_code = partition.error_code;
    }
  }
  return response;
}

void OffsetProtocol::fetch_all(std::string_view group, bool require_stable,
                               std::vector<AnsweredTopic>& into) const {
  const auto* topics = store_.committed().find(group);
  if (topics == nullptr) return;
  for (const auto& [name, partitions] : *topics) {
    const auto* image = environment_.image->topic(name);
    AnsweredTopic answer;
    for (const auto& [index, offset] : partitions) {
      if (require_stable && store_.is_pending({group, name, index})) {
        answer.partitions.push_back(nothing(index, ErrorCode::unstable_offset_commit));
      } else if (is_current(offset, image)) {
        answer.partitions.push_back(told(index, offset));
      }
    }
    if (image == nullptr || answer.partitions.empty()) continue;
    answer.name = name;
    answer.topic_id = image->id;
    into.push_back(std::move(answer));
  }
}

void OffsetProtocol::fetch_topic(std::string_view group, const AskedTopic& asked,
                                 const metadata::TopicImage* image, bool require_stable,
                                 AnsweredTopic& answer) const {
  const std::string_view name = image->name;
  answer.partitions.reserve(asked.partition_indexes.size());
  for (const int32_t index : asked.partition_indexes) {
    const CommittedOffset* offset = store_.find({group, name, index});
    if (require_stable && store_.is_pending({group, name, index})) {
      answer.partitions.push_back(nothing(index, ErrorCode::unstable_offset_commit));
    } else if (offset != nullptr && is_current(*offset, image)) {
      answer.partitions.push_back(told(index, *offset));
    } else {
      answer.partitions.push_back(nothing(index));
    }
  }
}

Decision OffsetProtocol::fetch(const RequestContext& context, const AskedGroup& asked, bool require_stable,
                               Reply<FetchedGroup> reply) {
  // A group that is not there has no offsets: not an error. Nor is there anything in the store for it.
  const Group* group = groups_.find(asked.group_id);
  ErrorCode refused = ErrorCode::none;
  if (group != nullptr) {
    std::optional<std::string> member;
    if (asked.member_id) member = asked.member_id->str();
    refused = group->validate_offset_fetch(member, asked.member_epoch);
  }
  const bool found = group != nullptr && refused == ErrorCode::none;
  if (refused != ErrorCode::none && refused != ErrorCode::group_id_not_found)
    return Decision::answer(reply.with(refuse_fetch(asked, context.version, refused)));

  AnsweredGroup answer;
  answer.group_id = asked.group_id;
  if (!asked.topics) {
    if (found) fetch_all(asked.group_id, require_stable, answer.topics);
    return Decision::answer(reply.with(std::move(answer)));
  }
  const bool by_id = context.version >= offset_fetch_first_with_topic_ids;
  std::vector<const AskedTopic*> unknown;
  answer.topics.reserve(asked.topics->size());
  for (const AskedTopic& topic : *asked.topics) {
    const auto* image =
        by_id ? environment_.image->topic(topic.topic_id) : environment_.image->topic(topic.name);
    if (by_id && image == nullptr) {
      unknown.push_back(&topic);
      continue;
    }
    AnsweredTopic& to = answer.topics.emplace_back();
    to.name = topic.name;
    to.topic_id = topic.topic_id;
    if (found && image != nullptr) {
      fetch_topic(asked.group_id, topic, image, require_stable, to);
    } else {
      for (const int32_t index : topic.partition_indexes) to.partitions.push_back(nothing(index));
    }
  }
  // Behind the others, as with Kafka.
  for (const AskedTopic* topic : unknown) {
    AnsweredTopic& to = answer.topics.emplace_back();
    to.topic_id = topic->topic_id;
    for (const int32_t index : topic->partition_indexes)
      to.partitions.push_back(nothing(index, ErrorCode::unknown_topic_id));
  }
  return Decision::answer(reply.with(std::move(answer)));
}

}  // namespace barnabas::coordinator
