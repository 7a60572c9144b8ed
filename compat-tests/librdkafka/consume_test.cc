// What librdkafka's consumers ask of a broker: offsets by name and by time, metadata, long polls, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "client.h"

namespace barnabas::compat {
namespace {

using std::chrono::milliseconds;

constexpr int timeout_ms = static_cast<int>(client_timeout.count());
constexpr std::int64_t start_ms = 1'700'000'000'000;

// Record i has the time start_ms + i * step_ms and the value "i".
void fill(const std::string& topic, std::int32_t partition, int count, int step_ms = 1,
          const Settings& settings = {}) {
  Sender sender(settings);
  for (int i = 0; i < count; ++i) {
    sender.send(topic, partition, {std::nullopt, std::to_string(i), {}, start_ms + i * step_ms});
  }
  for (const Delivery& delivery : sender.flush()) {
    ASSERT_EQ(delivery.error, RdKafka::ERR_NO_ERROR);
  }
}

std::pair<std::int64_t, std::int64_t> watermarks(Reader& reader, const std::string& topic,
                                                 std::int32_t partition) {
  std::int64_t low = -1;
  std::int64_t high = -1;
  EXPECT_EQ(reader.consumer().query_watermark_offsets(topic, partition, &low, &high, timeout_ms),
            RdKafka::ERR_NO_ERROR);
  return {low, high};
}

std::int64_t offset_for_time(Reader& reader, const std::string& topic, std::int64_t time_ms) {
  std::unique_ptr<RdKafka::TopicPartition> partition(RdKafka::TopicPartition::create(topic, 0, time_ms));
  std::vector<RdKafka::TopicPartition*> partitions = {partition.get()};
  EXPECT_EQ(reader.consumer().offsetsForTimes(partitions, timeout_ms), RdKafka::ERR_NO_ERROR);
  EXPECT_EQ(partition->err(), RdKafka::ERR_NO_ERROR);
  return partition->offset();
}

TEST(Watermarks, empty_partition_spans_nothing) {
  create_topic("empty", 1);
  Reader reader;
  EXPECT_EQ(watermarks(reader, "empty", 0), std::make_pair(std::int64_t{0}, std::int64_t{0}));
}

TEST(Watermarks, high_follows_each_partitions_own_records) {
  create_topic("watermarks", 2);
  fill("watermarks", 1, 120);
  Reader reader;
  EXPECT_EQ(watermarks(reader, "watermarks", 0).second, 0);
  EXPECT_EQ(watermarks(reader, "watermarks", 1).second, 120);
  fill("watermarks", 1, 3);
  EXPECT_EQ(watermarks(reader, "watermarks", 1).second, 123);
}

class OffsetsForTimes : public ::testing::TestWithParam<std::string> {};

TEST_P(OffsetsForTimes, first_record_at_or_after_the_time) {
  const std::string topic = "times-" + GetParam();
  create_topic(topic, 1);
  fill(topic, 0, 200, 10, {{"compression.type", GetParam()}, {"linger.ms", "100"}});
  Reader reader;
  EXPECT_EQ(offset_for_time(reader, topic, start_ms - 1), 0);
  EXPECT_EQ(offset_for_time(reader, topic, start_ms), 0);
  EXPECT_EQ(offset_for_time(reader, topic, start_ms + 1), 1);
  EXPECT_EQ(offset_for_time(reader, topic, start_ms + 999), 100);
  EXPECT_EQ(offset_for_time(reader, topic, start_ms + 1'000), 100);
  EXPECT_EQ(offset_for_time(reader, topic, start_ms + 1'990), 199);
  EXPECT_EQ(offset_for_time(reader, topic, start_ms + 1'991), RdKafka::Topic::OFFSET_END);
}

INSTANTIATE_TEST_SUITE_P(Each, OffsetsForTimes, ::testing::Values("none", "gzip", "snappy", "lz4", "zstd"),
                         [](const auto& test) { return test.param; });

TEST(Start, by_offset_beginning_end_and_tail) {
  create_topic("starts", 1);
  fill("starts", 0, 100);
  Reader reader;
  EXPECT_EQ(reader.read("starts", 0, 37, 1).at(0).record.value, "37");
  EXPECT_EQ(reader.read("starts", 0, RdKafka::Topic::OFFSET_BEGINNING, 1).at(0).offset, 0);
  EXPECT_EQ(reader.read("starts", 0, RdKafka::Consumer::OffsetTail(5), 5).at(0).offset, 95);
  EXPECT_TRUE(reader.read("starts", 0, RdKafka::Topic::OFFSET_END, 1, milliseconds(300)).empty());
}

TEST(Start, offset_beyond_the_end_is_out_of_range) {
  create_topic("range", 1);
  fill("range", 0, 10);
  Reader strict(Settings{{"auto.offset.reset", "error"}});
  EXPECT_THROW(strict.read("range", 0, 500, 1), std::runtime_error);
  Reader lenient(Settings{{"auto.offset.reset", "earliest"}});
  EXPECT_EQ(lenient.read("range", 0, 500, 1).at(0).offset, 0);
}

TEST(LongPoll, record_is_delivered_when_it_comes) {
  create_topic("waiting", 1);
  Reader reader(Settings{{"fetch.wait.max.ms", "10000"}});
  auto found = std::async(std::launch::async, [&] { return reader.read("waiting", 0, 0, 1); });
  std::this_thread::sleep_for(milliseconds(500));  // long enough for the fetch to be waiting at the broker
  const auto sent = std::chrono::steady_clock::now();
  fill("waiting", 0, 1, 1, {{"linger.ms", "0"}});
  ASSERT_EQ(found.get().size(), 1U);
  EXPECT_LT(std::chrono::steady_clock::now() - sent, milliseconds(5'000));
}

TEST(Limits, record_larger_than_the_fetch_limit_still_comes) {
  create_topic("large", 1);
  const std::string value(500'000, 'x');
  Sender sender;
  sender.send("large", 0, {"k", value, {}, 0});
  sender.send("large", 0, {"k", value, {}, 0});
  sender.flush();
  Reader reader(Settings{{"fetch.message.max.bytes", "1000"}, {"fetch.max.bytes", "1000000"}});
  const auto found = reader.read("large", 0, 0, 2);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].record.value, value);
}

TEST(Metadata, lists_the_broker_and_each_partitions_leader) {
  create_topic("described", 3);
  Reader reader;
  std::string problem;
  std::unique_ptr<RdKafka::Topic> topic(
      RdKafka::Topic::create(&reader.consumer(), "described", nullptr, problem));
  RdKafka::Metadata* answer = nullptr;
  ASSERT_EQ(reader.consumer().metadata(false, topic.get(), &answer, timeout_ms), RdKafka::ERR_NO_ERROR);
  const std::unique_ptr<RdKafka::Metadata> metadata(answer);
  ASSERT_EQ(metadata->brokers()->size(), 1U);
  const RdKafka::BrokerMetadata& broker = *metadata->brokers()->front();
  EXPECT_EQ(broker.host() + ":" + std::to_string(broker.port()), bootstrap());
  ASSERT_EQ(metadata->topics()->size(), 1U);
  ASSERT_EQ(metadata->topics()->front()->partitions()->size(), 3U);
  for (const RdKafka::PartitionMetadata* partition : *metadata->topics()->front()->partitions()) {
    EXPECT_EQ(partition->err(), RdKafka::ERR_NO_ERROR);
    EXPECT_EQ(partition->leader(), broker.id());
    EXPECT_THAT(*partition->replicas(), ::testing::ElementsAre(broker.id()));
    EXPECT_THAT(*partition->isrs(), ::testing::ElementsAre(broker.id()));
  }
}

TEST(Metadata, topic_that_nobody_made_is_unknown_to_a_consumer) {
  Reader reader(Settings{{"allow.auto.create.topics", "false"}});
  std::string problem;
  std::unique_ptr<RdKafka::Topic> topic(
      RdKafka::Topic::create(&reader.consumer(), "nobody", nullptr, problem));
  RdKafka::Metadata* answer = nullptr;
  ASSERT_EQ(reader.consumer().metadata(false, topic.get(), &answer, timeout_ms), RdKafka::ERR_NO_ERROR);
  const std::unique_ptr<RdKafka::Metadata> metadata(answer);
  ASSERT_EQ(metadata->topics()->size(), 1U);
  EXPECT_EQ(metadata->topics()->front()->err(), RdKafka::ERR_UNKNOWN_TOPIC_OR_PART);
}

// librdkafka wants a group's name for this consumer but, with assign() and offsets given, needs no group.
class AssignedConsumer : public ::testing::Test {
 protected:
  AssignedConsumer() {
    const auto conf = configuration({{"group.id", "unused"}, {"enable.auto.commit", "false"}});
    std::string problem;
    consumer_.reset(RdKafka::KafkaConsumer::create(conf.get(), problem));
    EXPECT_TRUE(consumer_) << problem;
  }
  ~AssignedConsumer() override { consumer_->close(); }

  void assign(const std::string& topic, const std::vector<std::int64_t>& offsets) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      owned_.emplace_back(RdKafka::TopicPartition::create(topic, static_cast<int>(i), offsets[i]));
      partitions_.push_back(owned_.back().get());
    }
    ASSERT_EQ(consumer_->assign(partitions_), RdKafka::ERR_NO_ERROR);
  }

  // The values of the next `count` records; what speaks of the group is passed over.
  std::vector<std::string> next(std::size_t count) {
    std::vector<std::string> values;
    const auto deadline = std::chrono::steady_clock::now() + client_timeout;
    while (values.size() < count && std::chrono::steady_clock::now() < deadline) {
      std::unique_ptr<RdKafka::Message> message(consumer_->consume(50));
      if (message->err() == RdKafka::ERR_NO_ERROR) {
        values.push_back(received(*message).record.value.value_or("null"));
      }
    }
    return values;
  }

  std::unique_ptr<RdKafka::KafkaConsumer> consumer_;
  std::vector<std::unique_ptr<RdKafka::TopicPartition>> owned_;
  std::vector<RdKafka::TopicPartition*> partitions_;
};

TEST_F(AssignedConsumer, reads_all_its_partitions_from_their_offsets) {
  create_topic("assigned", 3);
  for (std::int32_t partition : {0, 1, 2}) {
    fill("assigned", partition, 50);
  }
  assign("assigned", {40, 45, 49});
  EXPECT_THAT(next(16), ::testing::UnorderedElementsAre("40", "41", "42", "43", "44", "45", "46", "47", "48",
                                                        "49", "45", "46", "47", "48", "49", "49"));
}

TEST_F(AssignedConsumer, seeks_back_and_forth) {
  create_topic("seeking", 1);
  fill("seeking", 0, 100);
  assign("seeking", {0});
  EXPECT_THAT(next(2), ::testing::ElementsAre("0", "1"));
  for (const std::int64_t offset : {90, 5, 99}) {
    partitions_[0]->set_offset(offset);
    ASSERT_EQ(consumer_->seek(*partitions_[0], timeout_ms), RdKafka::ERR_NO_ERROR);
    EXPECT_THAT(next(1), ::testing::ElementsAre(std::to_string(offset)));
  }
}

}  // namespace
}  // namespace barnabas::compat
