#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/shard_test_support.h"
#include "coordinator/transaction_shard.h"
#include "metadata/metadata_test_support.h"

namespace barnabas::coordinator::testing {

using protocol::AddPartitionsToTxnRequest;
using protocol::AddPartitionsToTxnResponse;
using protocol::EndTxnRequest;
using protocol::EndTxnResponse;
using protocol::ErrorCode;
using protocol::InitProducerIdRequest;
using protocol::InitProducerIdResponse;

/// What shards asked for, for a test to do when it likes.
class RecordedEffects : public TransactionEffects {
 public:
  void next_producer_id(std::string transactional_id, Resume resume,
                        std::move_only_function<void(ErrorCode)> refused) override {
    asked.push_back({std::move(transactional_id), std::move(resume), std::move(refused)});
  }
  void write_markers(TransactionMarkers wanted) override { markers.push_back(std::move(wanted)); }

  struct Asked {
    std::string transactional_id;
    Resume resume;
    std::move_only_function<void(ErrorCode)> refused;
  };
  std::deque<Asked> asked;
  std::deque<TransactionMarkers> markers;
};

/// A shard with topics "t" and "u" of three partitions and __consumer_offsets of fifty, default settings, and
/// short ways to use it. Producer ids count up from 1000, and come at once unless they are held back.
class TransactionScene : public ShardRunner<TransactionShard> {
 public:
  struct World {
    RecordedEffects effects;
    metadata::MetadataImagePtr image;
    metadata::StaticConfig config;
    TransactionSettings settings = TransactionSettings::of(config);
    int32_t coordinator_epoch = 7;
  };

  explicit TransactionScene(int16_t transaction_version = 2)
      : TransactionScene(world_of(transaction_version)) {}
  explicit TransactionScene(std::shared_ptr<World> world, int64_t first_producer_id = 1000)
      : ShardRunner([world] {
          return std::make_unique<TransactionShard>(
              TransactionEnvironment{.config = world->config,
                                     .settings = world->settings,
                                     .image = world->image,
                                     .coordinator_epoch = world->coordinator_epoch,
                                     .effects = world->effects});
        }),
        world_(std::move(world)),
        next_id_(first_producer_id) {}

  static std::shared_ptr<World> world_of(int16_t transaction_version) {
    auto world = std::make_shared<World>();
    metadata::MetadataDelta delta(metadata::MetadataImage{});
    uint8_t number = 0;
    for (const auto& [name, partitions] :
         {std::pair("t", 3), std::pair("u", 3), std::pair("__consumer_offsets", 50)}) {
      const Uuid id = metadata::testing::id(++number);
      EXPECT_TRUE(delta.replay(protocol::MetadataRecord(metadata::testing::topic(name, id)), {}));
      for (int32_t i = 0; i < partitions; ++i)
        EXPECT_TRUE(delta.replay(protocol::MetadataRecord(metadata::testing::partition(id, i)), {}));
    }
    replay_version(delta, transaction_version);
    auto image = std::move(delta).finish({Offset{1}, LeaderEpoch{0}, {}});
    EXPECT_TRUE(image) << image.error().message;
    world->image = image->image;
    return world;
  }
  void set_transaction_version(int16_t level) {
    metadata::MetadataDelta delta(*world_->image);
    replay_version(delta, level);
    publish(std::move(delta));
  }
  void delete_topic(std::string_view name) {
    metadata::MetadataDelta delta(*world_->image);
    protocol::RemoveTopicRecord record;
    record.topic_id = world_->image->topic(name)->id;
    EXPECT_TRUE(delta.replay(protocol::MetadataRecord(record), {}));
    publish(std::move(delta));
  }

  World& world() { return *world_; }
  RecordedEffects& effects() { return world_->effects; }
  RequestContext context(int16_t version) const {
    return {.version = version, .client_id = "client", .client_host = "/127.0.0.1", .now = now()};
  }

  // --- producer ids

  void next_producer_id(int64_t id) { next_id_ = id; }
  void hold_producer_ids_back(bool yes) { hands_out_ids_ = !yes; }
  void hand_out_producer_ids() {
    while (!effects().asked.empty()) {
      auto asked = std::move(effects().asked.front());
      effects().asked.pop_front();
      carry_out(asked.resume(shard(), ProducerId(next_id_++), ErrorCode::none, now()));
    }
  }
  void refuse_producer_ids(ErrorCode error) {
    while (!effects().asked.empty()) {
      auto asked = std::move(effects().asked.front());
      effects().asked.pop_front();
      carry_out(asked.resume(shard(), no_producer_id, error, now()));
    }
  }

  // --- markers

  /// Each of those that were asked for first, with this result.
  void write_markers(ErrorCode error = ErrorCode::none) {
    BARNABAS_ASSERT(!effects().markers.empty());
    const TransactionMarkers markers = std::move(effects().markers.front());
    effects().markers.pop_front();
    std::vector<MarkerResult> results;
    for (const auto& [topic, partitions] : markers.partitions)
      for (const int32_t partition : partitions) results.push_back({topic, partition, error});
    carry_out(shard().markers_written(markers, results, now()));
  }
  void write_all_markers() {
    while (!effects().markers.empty()) write_markers();
  }

  // --- requests

  AnswerPtr<InitProducerIdResponse> ask_init(std::string_view id, int64_t producer = -1, int16_t epoch = -1,
                                             int32_t timeout_ms = 60000, int16_t version = 5) {
    InitProducerIdRequest request;
    request.transactional_id = protocol::String(id);
    request.transaction_timeout_ms = timeout_ms;
    request.producer_id = producer;
    request.producer_epoch = epoch;
    auto [reply, answer] = reply_and_answer<InitProducerIdResponse>();
    done(shard().init_producer_id(context(version), request, std::move(reply)));
    return answer;
  }
  AnswerPtr<AddPartitionsToTxnResponse::AddPartitionsToTxnResult> ask_add(
      std::string_view id, Producer producer,
      const std::vector<std::pair<std::string, std::vector<int32_t>>>& topics, int16_t version,
      bool verify_only = false) {
    AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction transaction;
    transaction.transactional_id = protocol::String(id);
    transaction.producer_id = producer.id.value();
    transaction.producer_epoch = producer.epoch.value();
    transaction.verify_only = verify_only;
    for (const auto& [topic, partitions] : topics) {
      auto& asked = transaction.topics.emplace_back();
      asked.name = topic;
      asked.partitions = partitions;
    }
    auto [reply, answer] = reply_and_answer<AddPartitionsToTxnResponse::AddPartitionsToTxnResult>();
    done(shard().add_partitions(context(version), transaction, std::move(reply)));
    return answer;
  }
  AnswerPtr<ErrorCode> ask_add_offsets(std::string_view id, Producer producer, int32_t partition,
                                       int16_t version = 4) {
    auto [reply, answer] = reply_and_answer<ErrorCode>();
    done(shard().add_offsets(context(version), id, producer.id, producer.epoch, partition, std::move(reply)));
    return answer;
  }
  AnswerPtr<EndTxnResponse> ask_end(std::string_view id, Producer producer, bool committed, int16_t version) {
    EndTxnRequest request;
    request.transactional_id = protocol::String(id);
    request.producer_id = producer.id.value();
    request.producer_epoch = producer.epoch.value();
    request.committed = committed;
    auto [reply, answer] = reply_and_answer<EndTxnResponse>();
    done(shard().end_txn(context(version), request, std::move(reply)));
    return answer;
  }

  // --- requests that must be answered at once

  /// Must succeed.
  Producer init(std::string_view id) { return producer_of(ask_init(id)->response()); }
  ErrorCode add(std::string_view id, Producer producer, std::string_view topic,
                std::vector<int32_t> partitions, int16_t version = 3) {
    return first_error(
        ask_add(id, producer, {{std::string(topic), std::move(partitions)}}, version)->response());
  }
  ErrorCode end(std::string_view id, Producer producer, bool committed, int16_t version = 4) {
    return error_of(ask_end(id, producer, committed, version)->response());
  }
  /// "Ongoing 1000/0 t:0,1 u:2", or the error's number.
  std::string describe(std::string_view id) {
    auto [reply, answer] = reply_and_answer<protocol::DescribeTransactionsResponse::TransactionState>();
    carry_out(shard().describe(id, std::move(reply)));
    const auto& told = answer->response();
    if (told.error_code != 0) return std::to_string(told.error_code);
    std::string text = told.transaction_state.str() + " " + std::to_string(told.producer_id) + "/" +
                       std::to_string(told.producer_epoch);
    for (const auto& topic : told.topics) {
      text += " " + topic.topic.str() + ":";
      for (std::size_t i = 0; i < topic.partitions.size(); ++i)
        text += (i == 0 ? "" : ",") + std::to_string(topic.partitions[i]);
    }
    return text;
  }

  template <class Response>
  static ErrorCode error_of(const Response& response) {
    return static_cast<ErrorCode>(response.error_code);
  }
  template <class Response>
  static Producer producer_of(const Response& response) {
    EXPECT_EQ(error_of(response), ErrorCode::none);
    return {ProducerId(response.producer_id), ProducerEpoch(response.producer_epoch)};
  }
  static ErrorCode first_error(const AddPartitionsToTxnResponse::AddPartitionsToTxnResult& result) {
    return static_cast<ErrorCode>(result.topic_results.at(0).results_by_partition.at(0).partition_error_code);
  }

 private:
  void done(Decision decision) {
    carry_out(std::move(decision));
    if (hands_out_ids_) hand_out_producer_ids();
  }

  static void replay_version(metadata::MetadataDelta& delta, int16_t level) {
    protocol::FeatureLevelRecord feature;
    feature.name = "transaction.version";
    feature.feature_level = level;
    EXPECT_TRUE(delta.replay(protocol::MetadataRecord(feature), {}));
  }
  void publish(metadata::MetadataDelta delta) {
    auto next =
        std::move(delta).finish({Offset{world_->image->position.offset.value() + 1}, LeaderEpoch{0}, {}});
    ASSERT_TRUE(next) << next.error().message;
    world_->image = next->image;
    carry_out(shard().metadata_changed(next->changes, next->image, now()));
  }

  std::shared_ptr<World> world_;
  bool hands_out_ids_ = true;
  int64_t next_id_;
};

}  // namespace barnabas::coordinator::testing
