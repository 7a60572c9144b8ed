#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/consumer_group.h"
#include "coordinator/shard_test_support.h"
#include "metadata/publisher.h"
#include "protocol/messages/consumer_group_heartbeat_request.h"
#include "protocol/messages/consumer_group_heartbeat_response.h"
#include "protocol/writer.h"

namespace barnabas::coordinator::testing {

using protocol::ConsumerGroupHeartbeatRequest;
using protocol::ConsumerGroupHeartbeatResponse;
using protocol::ErrorCode;

/// A shard with topics that come, grow and go, and members that send it heartbeats.
class ConsumerShard {
 public:
  explicit ConsumerShard(std::function<void(ShardEnvironment&)> adjust = {})
      : image_(std::make_shared<std::shared_ptr<const metadata::MetadataImage>>(
            std::make_shared<metadata::MetadataImage>())),
        runner([adjust = std::move(adjust), image = image_](ShardEnvironment& environment) {
          environment.image = *image;
          if (adjust) adjust(environment);
        }) {}

  /// A topic that is there already gets more partitions.
  void set_topic(std::string_view name, int32_t partitions) {
    auto topic = std::make_shared<metadata::TopicImage>();
    topic->name = name;
    const auto* present = image().topic(name);
    topic->id = present != nullptr ? present->id : next_id();
    for (int32_t i = 0; i < partitions; ++i)
      topic->partitions.push_back(std::make_shared<metadata::PartitionImage>());
    publish([&](metadata::MetadataImage& next, metadata::MetadataChanges& changes) {
      next.topics_by_name.put(topic);
      next.topics_by_id.put(topic);
      changes.changed_topics.push_back(topic);
    });
  }

  void delete_topic(std::string_view name) {
    publish([&](metadata::MetadataImage& next, metadata::MetadataChanges& changes) {
      const auto topic = *next.topics_by_name.find(name);
      changes.deleted_topics.push_back(topic);
      next.topics_by_id.erase(topic->id);
      next.topics_by_name.erase(topic->name);
    });
  }

  void set_group_config(std::string_view group, std::string_view name, std::string_view value) {
    publish([&](metadata::MetadataImage& next, metadata::MetadataChanges& changes) {
      auto config = std::make_shared<metadata::ConfigImage>();
      config->resource = {metadata::ConfigResourceType::group, std::string(group)};
      if (const auto* present = next.config(metadata::ConfigResourceType::group, group)) *config = *present;
      config->values[std::string(name)] = value;
      changes.changed_configs.push_back(config->resource);
      next.configs.put(std::move(config));
    });
  }

  const metadata::MetadataImage& image() const { return **image_; }

  /// None: the answer has not come, or the connection would have been closed.
  std::optional<ConsumerGroupHeartbeatResponse> heartbeat(const ConsumerGroupHeartbeatRequest& request,
                                                          int16_t version = 1) {
    auto [reply, answer] = reply_and_answer<ConsumerGroupHeartbeatResponse>();
    runner.carry_out(runner.shard().consumer_heartbeat(runner.context(version), request, std::move(reply)));
    if (!answer->came() || !answer->content->has_value()) return std::nullopt;
    return answer->response();
  }

  const ConsumerGroup* group(std::string_view id) {
    return runner.shard().groups().find_as<ConsumerGroup>(id);
  }

 private:
  std::shared_ptr<std::shared_ptr<const metadata::MetadataImage>> image_;
  uint8_t ids_ = 0;

  Uuid next_id() {
    Uuid id;
    id.bytes[0] = std::byte{0xab};
    id.bytes[15] = std::byte{++ids_};
    return id;
  }

  template <class Change>
  void publish(Change&& change) {
    auto next = std::make_shared<metadata::MetadataImage>(image());
    metadata::MetadataChanges changes;
    change(*next, changes);
    next->position.offset = Offset(next->position.offset.value() + 1);
    *image_ = next;
    runner.carry_out(runner.shard().metadata_changed(changes, *image_, runner.now()));
  }

 public:
  GroupShardRunner runner;
};

/// The first heartbeat of a member.
inline ConsumerGroupHeartbeatRequest join_request(std::string_view group, std::string_view member,
                                                  const std::vector<std::string>& topics) {
  ConsumerGroupHeartbeatRequest request;
  request.group_id = group;
  request.member_id = member;
  request.rebalance_timeout_ms = 30'000;
  request.subscribed_topic_names.emplace(topics.begin(), topics.end());
  request.topic_partitions.emplace();
  return request;
}

inline ConsumerGroupHeartbeatRequest heartbeat_request(std::string_view group, std::string_view member,
                                                       int32_t epoch) {
  ConsumerGroupHeartbeatRequest request;
  request.group_id = group;
  request.member_id = member;
  request.member_epoch = epoch;
  return request;
}

inline void report(ConsumerGroupHeartbeatRequest& request, const TopicPartitions& partitions) {
  auto& reported = request.topic_partitions.emplace();
  for (const auto& [topic, list] : partitions) {
    auto& one = reported.emplace_back();
    one.topic_id = topic;
    one.partitions = list;
  }
}

/// What members of the classic protocol say to each other in bytes (consumer_embedded.h).
template <class Message>
protocol::Bytes embedded(const Message& message, int16_t version) {
  protocol::Writer writer;
  writer.int16(version);
  message.encode(writer, version);
  return protocol::Bytes(writer.bytes());
}

}  // namespace barnabas::coordinator::testing
