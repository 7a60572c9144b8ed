#pragma once

#include <cstdint>
#include <vector>

#include "coordinator/topic_answers.h"
#include "metadata/image.h"
#include "protocol/error_code.h"

namespace barnabas::coordinator {

/// What OffsetCommit and TxnOffsetCommit have in common: partitions that are asked for, and an answer for
/// each in Kafka's order. Borrows from the request and the image.
template <class Request>
class CommitTopics {
 public:
  using Response = typename Request::Response;
  using AskedTopic = typename decltype(Request::topics)::value_type;
  using AskedPartition = typename decltype(AskedTopic::partitions)::value_type;
  using AnsweredTopic = typename decltype(Response::topics)::value_type;

  /// One partition that exists.
  struct Commit {
    const AskedTopic* topic;
    const AskedPartition* partition;
    const metadata::TopicImage* image;
  };

  /// `by_id`: topics go by their ids instead of their names. Partitions that do not exist are answered.
  CommitTopics(const Request& request, bool by_id, const metadata::MetadataImage& image) : answers_(by_id) {
    for (const AskedTopic& asked : request.topics) {
      const auto* topic = by_id ? image.topic(asked.topic_id) : image.topic(asked.name);
      const auto unknown = by_id && topic == nullptr ? protocol::ErrorCode::unknown_topic_id
                                                     : protocol::ErrorCode::unknown_topic_or_partition;
      if (topic == nullptr) answers_.failed(asked);
      for (const auto& partition : asked.partitions) {
        if (topic != nullptr && topic->partition(PartitionIndex(partition.partition_index)) != nullptr) {
          commits_.push_back({&asked, &partition, topic});
        } else {
          add(answers_.failed(asked), partition.partition_index, unknown);
        }
      }
    }
  }

  const std::vector<Commit>& commits() const { return commits_; }

  /// `error_of`: ErrorCode(const Commit&), called once for each, in the order of the request. Once.
  template <class ErrorOf>
  Response answer(ErrorOf&& error_of) {
    const AskedTopic* last = nullptr;
    AnsweredTopic* topic = nullptr;
    for (const Commit& commit : commits_) {
      if (commit.topic != last) topic = &answers_.other(*commit.topic);
      last = commit.topic;
      add(*topic, commit.partition->partition_index, error_of(commit));
    }
    Response response;
    response.topics = answers_.take();
    return response;
  }
  Response answer(protocol::ErrorCode error) {
    return answer([error](const Commit&) { return error; });
  }

 private:
  static void add(AnsweredTopic& topic, int32_t partition, protocol::ErrorCode error) {
    auto& answer = topic.partitions.emplace_back();
    answer.partition_index = partition;
    answer.error_code = protocol::to_wire(error);
  }

  TopicAnswers<AnsweredTopic, AskedTopic> answers_;
  std::vector<Commit> commits_;
};

}  // namespace barnabas::coordinator
