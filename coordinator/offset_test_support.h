#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/offset_commit.h"
#include "coordinator/offset_fetch.h"
#include "coordinator/shard_test_support.h"
#include "metadata/metadata_test_support.h"

namespace barnabas::coordinator::testing {

using protocol::ErrorCode;
using protocol::OffsetCommitRequest;
using protocol::OffsetCommitResponse;
using protocol::OffsetDeleteRequest;
using protocol::OffsetDeleteResponse;
using protocol::OffsetFetchRequest;
using protocol::OffsetFetchResponse;
using GroupToFetch = OffsetProtocol::GroupToFetch;
using FetchedGroup = OffsetProtocol::FetchedGroup;

struct PartitionOffset {
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
  std::string metadata = {};
  int32_t leader_epoch = -1;
  auto operator<=>(const PartitionOffset&) const = default;
};

/// By name, as old versions do; each entry becomes a topic of its own unless it follows one of the same name.
template <class Request>
void fill_commit(Request& request, std::string_view group, const std::vector<PartitionOffset>& offsets) {
  request.group_id = group;
  for (const auto& offset : offsets) {
    if (request.topics.empty() || request.topics.back().name != offset.topic)
      request.topics.emplace_back().name = offset.topic;
    auto& partition = request.topics.back().partitions.emplace_back();
    partition.partition_index = offset.partition;
    partition.committed_offset = offset.offset;
    partition.committed_leader_epoch = offset.leader_epoch;
    partition.committed_metadata = protocol::String(offset.metadata);
  }
}

inline OffsetCommitRequest commit_request(std::string_view group,
                                          const std::vector<PartitionOffset>& offsets) {
  OffsetCommitRequest request;
  fill_commit(request, group, offsets);
  return request;
}

inline GroupToFetch everything_of(std::string_view group) {
  GroupToFetch asked;
  asked.group_id = group;
  asked.topics.reset();
  return asked;
}

inline GroupToFetch some_of(std::string_view group, std::string_view topic, std::vector<int32_t> partitions) {
  GroupToFetch asked;
  asked.group_id = group;
  auto& to = asked.topics->emplace_back();
  to.name = topic;
  to.partition_indexes = std::move(partitions);
  return asked;
}

/// "topic: partition=error …; topic: …", in the order of the answer.
template <class Response>
std::string errors_of(const Response& response) {
  std::string text;
  for (const auto& topic : response.topics) {
    if (!text.empty()) text += "; ";
    text += topic.name.str() + ":";
    for (const auto& partition : topic.partitions)
      text += " " + std::to_string(partition.partition_index) + "=" + std::to_string(partition.error_code);
  }
  return text;
}

/// "topic: partition=offset …; …", with "!error" where there is one.
inline std::string offsets_of(const FetchedGroup& group) {
  std::string text = group.error_code == 0 ? "" : "!" + std::to_string(group.error_code);
  for (const auto& topic : group.topics) {
    if (!text.empty()) text += "; ";
    text += topic.name.str() + ":";
    for (const auto& partition : topic.partitions) {
      text += " " + std::to_string(partition.partition_index) + "=";
      text += partition.error_code == 0 ? std::to_string(partition.committed_offset)
                                        : "!" + std::to_string(partition.error_code);
    }
  }
  return text;
}

/// A shard, the topics around it, and short ways to use it.
class OffsetShard {
 public:
  explicit OffsetShard(std::function<void(GroupSettings&)> settings = {})
      : runner_([this, settings](ShardEnvironment& environment) {
          environment.image = told_ = image_;
          if (settings) settings(environment.settings);
        }) {}

  GroupShardRunner& runner() { return runner_; }
  GroupShard& shard() { return runner_.shard(); }
  const OffsetStore& store() { return shard().offsets().store(); }
  const metadata::MetadataImage& image() const { return *image_; }
  /// What the shard knows of.
  const metadata::MetadataImage& told_image() const { return *told_; }

  /// The shard is told at once.
  Uuid create_topic(std::string_view name, int32_t partitions = 3) {
    namespace md = metadata::testing;
    metadata::MetadataDelta delta(*image_);
    Uuid id = md::id(0);
    for (uint32_t number = ++last_topic_, at = 8; number != 0; number >>= 8, ++at)
      id.bytes[at] = static_cast<std::byte>(number & 0xff);
    EXPECT_TRUE(delta.replay(protocol::MetadataRecord(md::topic(name, id)), {}));
    for (int32_t i = 0; i < partitions; ++i)
      EXPECT_TRUE(delta.replay(protocol::MetadataRecord(md::partition(id, i)), {}));
    publish(std::move(delta), /*tell=*/true);
    return id;
  }
  /// `tell`: false if the shard is not there to hear of it.
  void delete_topic(std::string_view name, bool tell = true) {
    metadata::MetadataDelta delta(*image_);
    protocol::RemoveTopicRecord record;
    record.topic_id = image_->topic(name)->id;
    EXPECT_TRUE(delta.replay(protocol::MetadataRecord(record), {}));
    publish(std::move(delta), tell);
  }

  AnswerPtr<OffsetCommitResponse> commit(const OffsetCommitRequest& request, int16_t version = 9) {
    auto [reply, answer] = reply_and_answer<OffsetCommitResponse>();
    runner_.carry_out(shard().commit_offsets(runner_.context(version), request, std::move(reply)));
    return answer;
  }
  std::string commit(std::string_view group, const std::vector<PartitionOffset>& offsets,
                     int16_t version = 9) {
    return errors_of(commit(commit_request(group, offsets), version)->response());
  }
  AnswerPtr<FetchedGroup> ask(const GroupToFetch& group, int16_t version = 9, bool require_stable = false) {
    auto [reply, answer] = reply_and_answer<FetchedGroup>();
    runner_.carry_out(
        shard().fetch_offsets(runner_.context(version), group, require_stable, std::move(reply)));
    return answer;
  }
  std::string fetch(std::string_view group, bool require_stable = false) {
    return offsets_of(ask(everything_of(group), 9, require_stable)->response());
  }
  AnswerPtr<OffsetDeleteResponse> delete_offsets(const OffsetDeleteRequest& request) {
    auto [reply, answer] = reply_and_answer<OffsetDeleteResponse>();
    runner_.carry_out(shard().delete_offsets(runner_.context(0), request, std::move(reply)));
    return answer;
  }
  AnswerPtr<OffsetProtocol::DeletedGroup> delete_group(std::string_view id) {
    auto [reply, answer] = reply_and_answer<OffsetProtocol::DeletedGroup>();
    runner_.carry_out(shard().delete_group(protocol::String(id), std::move(reply)));
    return answer;
  }

  /// As if the record had been read from the log, behind what is there.
  void replay(const Record& record, ProducerId producer = no_producer_id, int64_t offset = -1) {
    std::optional<ByteView> value;
    if (record.value) value = ByteView(*record.value);
    const Offset at(offset >= 0 ? offset : static_cast<int64_t>(runner_.log().size()));
    const auto done = shard().replay(
        {.key = record.key, .value = value, .offset = at, .timestamp = {}, .producer_id = producer});
    EXPECT_TRUE(done) << done.error().message;
  }

 private:
  void publish(metadata::MetadataDelta delta, bool tell) {
    auto next = std::move(delta).finish({Offset{image_->position.offset.value() + 1}, LeaderEpoch{0}, {}});
    ASSERT_TRUE(next) << next.error().message;
    image_ = next->image;
    if (!tell) return;
    told_ = image_;
    runner_.carry_out(shard().metadata_changed(next->changes, image_, runner_.now()));
  }

  metadata::MetadataImagePtr image_ = std::make_shared<metadata::MetadataImage>();
  metadata::MetadataImagePtr told_ = image_;
  uint32_t last_topic_ = 0;
  GroupShardRunner runner_;
};

}  // namespace barnabas::coordinator::testing
