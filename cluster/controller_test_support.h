#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/local_controller.h"
#include "metadata/metadata_test_support.h"

namespace barnabas::cluster::testing {

using protocol::ErrorCode;
using protocol::to_wire;

/// One broker (id 1, unfenced), Kafka's features, and what the test makes.
class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest()
      : controller_(
            {.node_id = NodeId{1}, .static_config = &config, .new_id = [this] { return next_id(); }}) {
    auto broker = metadata::testing::broker(1, 5);
    broker.fenced = false;
    protocol::FeatureLevelRecord version;
    version.name = "metadata.version";
    version.feature_level = 33;
    protocol::FeatureLevelRecord elr;
    elr.name = "eligible.leader.replicas.version";
    elr.feature_level = 1;
    metadata::MetadataImage empty;
    empty.cluster_id = "cluster";
    image = metadata::testing::apply(empty, broker, version, elr).image;
  }

  template <class Response>
  Response done(Outcome<Response> outcome) {
    metadata::MetadataDelta delta(*image);
    record_types.clear();
    for (std::size_t i = 0; i < outcome.records.size(); ++i) {
      const auto record = protocol::decode_metadata_record(outcome.records[i]);
      EXPECT_TRUE(record) << record.error().message;
      record_types.push_back(
          static_cast<int>(std::visit([](const auto& r) { return r.record_type; }, *record)));
      const auto replayed = delta.replay(*record, outcome.records[i]);
      EXPECT_TRUE(replayed) << replayed.error().message;
    }
    auto position = image->position;
    position.offset += static_cast<int64_t>(outcome.records.size());
    auto next = std::move(delta).finish(position);
    EXPECT_TRUE(next) << next.error().message;
    image = next->image;
    return std::move(outcome.response);
  }
  ControllerState state() const { return {*image, image->position.offset + 1}; }

  using Topic = protocol::CreateTopicsRequest::CreatableTopic;
  static Topic topic(std::string_view name, int32_t partitions = 1, int16_t factor = 1) {
    Topic topic;
    topic.name = name;
    topic.num_partitions = partitions;
    topic.replication_factor = factor;
    return topic;
  }
  static Topic& with(Topic& topic, std::string_view name, std::optional<std::string_view> value) {
    auto& config = topic.configs.emplace_back();
    config.name = name;
    config.value.reset();
    if (value) config.value = protocol::String(*value);
    return topic;
  }
  static Topic assigned(std::string_view name,
                        std::vector<std::pair<int32_t, std::vector<int32_t>>> assignments) {
    Topic result = topic(name, -1, -1);
    for (auto& [partition, brokers] : assignments) {
      auto& assignment = result.assignments.emplace_back();
      assignment.partition_index = partition;
      assignment.broker_ids = std::move(brokers);
    }
    return result;
  }
  protocol::CreateTopicsResponse create(std::vector<Topic> topics, bool validate_only = false) {
    protocol::CreateTopicsRequest request;
    request.topics = std::move(topics);
    request.validate_only = validate_only;
    return done(controller_.create_topics(request, state()));
  }
  void expect_refused(Topic topic, ErrorCode code, std::string_view message) {
    const auto response = create({std::move(topic)});
    ASSERT_EQ(response.topics.size(), 1u);
    const auto& answer = response.topics.front();
    EXPECT_EQ(answer.error_code, to_wire(code)) << message;
    ASSERT_TRUE(answer.error_message.has_value());
    EXPECT_EQ(answer.error_message->view(), message);
    EXPECT_EQ(answer.num_partitions, -1);
    EXPECT_EQ(answer.replication_factor, -1);
    EXPECT_TRUE(answer.topic_id.is_zero());
    EXPECT_TRUE(answer.configs && answer.configs->empty());
    EXPECT_TRUE(record_types.empty());
  }
  Uuid next_id() {
    ++last_id_;
    Uuid id = metadata::testing::id(static_cast<uint8_t>(last_id_ & 0xff));
    id.bytes[14] = static_cast<std::byte>(last_id_ >> 8 & 0xff);
    id.bytes[13] = static_cast<std::byte>(last_id_ >> 16);
    return id;
  }

  metadata::StaticConfig config;
  metadata::MetadataImagePtr image;
  std::vector<int> record_types;
  LocalController controller_;

 private:
  uint32_t last_id_ = 0;
};

}  // namespace barnabas::cluster::testing
