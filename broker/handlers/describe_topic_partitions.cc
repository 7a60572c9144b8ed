#include "broker/handlers/describe_topic_partitions.h"

#include <algorithm>
#include <set>

#include "broker/handlers/topic_description.h"
#include "metadata/topic_name.h"

namespace barnabas::broker {
namespace {

using protocol::DescribeTopicPartitionsRequest;
using protocol::DescribeTopicPartitionsResponse;
using protocol::ErrorCode;

class Page {
 public:
  Page(const metadata::MetadataImage& image, const Rights& rights, int32_t limit)
      : image_(image), rights_(rights), left_(limit) {}

  /// Adds partitions of a topic from `first` on. False when the page is full; the cursor is set then.
  bool add(const metadata::TopicImage& topic, int32_t first) {
    if (left_ == 0) return full(topic.name, first);
    auto& answer = response.topics.emplace_back();
    answer.name = protocol::String(topic.name);
    answer.topic_id = topic.id;
    answer.is_internal = is_internal_topic(topic.name);
    answer.topic_authorized_operations = operations(topic.name);
    for (int32_t i = first; i < topic.partition_count(); ++i) {
      if (left_ == 0) return full(topic.name, i);
      add_partition(answer, topic, i);
      --left_;
    }
    return true;
  }

  /// A topic that is not there takes no room, but begins the next page when this one is full.
  bool add_failed(std::string_view name) {
    if (left_ == 0) return full(name, 0);
    auto& answer = response.topics.emplace_back();
    answer.name = protocol::String(name);
    answer.is_internal = is_internal_topic(name);
    answer.topic_authorized_operations = operations(name);
    answer.error_code = to_wire(metadata::topic_name_problem(name) ? ErrorCode::invalid_topic_exception
                                                                   : ErrorCode::unknown_topic_or_partition);
    return true;
  }

  DescribeTopicPartitionsResponse response;

  /// Beside the pages: in each of them again.
  void add_denied(std::string_view name) {
    auto& answer = response.topics.emplace_back();
    answer.name = protocol::String(name);
    answer.error_code = to_wire(ErrorCode::topic_authorization_failed);
  }

 private:
  int32_t operations(std::string_view topic) const {
    return rights_.operations(metadata::AclResourceType::topic, topic);
  }
  void add_partition(DescribeTopicPartitionsResponse::DescribeTopicPartitionsResponseTopic& answer,
                     const metadata::TopicImage& topic, int32_t index) {
    const metadata::PartitionImage& partition = *topic.partition(PartitionIndex{index});
    auto& described = answer.partitions.emplace_back();
    describe_partition(image_, partition, index, described);
    described.eligible_leader_replicas = numbers(partition.eligible_leader_replicas);
    described.last_known_elr = numbers(partition.last_known_elr);
  }

  bool full(std::string_view topic, int32_t partition) {
    auto& cursor = response.next_cursor.emplace();
    cursor.topic_name = protocol::String(topic);
    cursor.partition_index = partition;
    return false;
  }

  const metadata::MetadataImage& image_;
  const Rights& rights_;
  int32_t left_;
};

std::set<std::string_view> wanted_names(const DescribeTopicPartitionsRequest& request,
                                        const metadata::MetadataImage& image) {
  std::set<std::string_view> names;
  for (const auto& topic : request.topics) names.insert(topic.name);
  if (request.topics.empty())
    for (const auto& topic : image.topics_by_name) names.insert(topic->name);
  return names;
}

/// For a cursor that fits nothing; a request that names no topics gets an empty answer.
DescribeTopicPartitionsResponse refuse_all(const DescribeTopicPartitionsRequest& request) {
  DescribeTopicPartitionsResponse response;
  std::set<std::string_view> names;
  for (const auto& topic : request.topics) names.insert(topic.name);
  for (const std::string_view name : names) {
    auto& answer = response.topics.emplace_back();
    answer.name = protocol::String(name);
    answer.error_code = to_wire(ErrorCode::invalid_request);
  }
  return response;
}

}  // namespace

DescribeTopicPartitionsResponse DescribeTopicPartitionsHandler::handle(Call& call, const Request& request) {
  const auto image = call.services().metadata.current();
  const auto names = wanted_names(request, *image);
  std::string_view from_topic;
  int32_t from_partition = 0;
  if (request.cursor) {
    from_topic = request.cursor->topic_name;
    from_partition = request.cursor->partition_index;
    const bool asked_for = request.topics.empty() || names.contains(from_topic);
    if (from_partition < 0 || !asked_for) return refuse_all(request);
  }
  const auto limit_max =
      static_cast<int32_t>(call.services().config.integer("max.request.partition.size.limit"));
  const Rights rights = call.rights();
  const bool all = request.topics.empty();
  const Right right = all ? Right::describe_all_partitions_topic : Right::describe_partitions_topic;
  std::vector<std::string_view> denied;
  bool is_full = false;
  Page page(*image, rights, std::clamp(request.response_partition_limit, 1, std::max(limit_max, 1)));
  for (auto at = names.lower_bound(from_topic); at != names.end(); ++at) {
    if (!rights.may(right, *at)) {
      if (!all) denied.push_back(*at);
      continue;
    }
    if (is_full) continue;
    const metadata::TopicImage* topic = image->topic(*at);
    const bool goes_on =
        topic == nullptr ? page.add_failed(*at) : page.add(*topic, *at == from_topic ? from_partition : 0);
    is_full = !goes_on;
    if (is_full && !rights.limited()) break;
  }
  for (const std::string_view name : denied) page.add_denied(name);
  return std::move(page.response);
}

}  // namespace barnabas::broker
