// What librdkafka's producer asks of a broker: acknowledgements, compression, idempotence, records of every
// shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "client.h"

namespace barnabas::compat {
namespace {

// Repetitive and irregular at once, so that each codec finds something and none collapses to nothing.
std::string text(std::size_t size, std::uint32_t seed) {
  static constexpr std::string_view words[] = {"offset ", "partition ", "leader ",
                                               "epoch ",  "record ",    "batch "};
  std::string result;
  while (result.size() < size) {
    seed = seed * 1'664'525 + 1'013'904'223;
    result += words[(seed >> 16) % std::size(words)];
    result += std::to_string(seed >> 24);
  }
  result.resize(size);
  return result;
}

std::vector<Record> records(int count, std::size_t value_size = 200) {
  std::vector<Record> result;
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<std::uint32_t>(i);
    result.push_back(
        {"key-" + std::to_string(i), text(value_size + seed % 50, seed), {}, 1'700'000'000'000 + i});
  }
  return result;
}

void expect_all_delivered(const std::deque<Delivery>& deliveries, std::int64_t first_offset = 0) {
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    ASSERT_EQ(deliveries[i].error, RdKafka::ERR_NO_ERROR)
        << i << ": " << RdKafka::err2str(deliveries[i].error);
    ASSERT_EQ(deliveries[i].offset, first_offset + static_cast<std::int64_t>(i));
  }
}

void expect_partition_holds(const std::string& topic, std::int32_t partition,
                            const std::vector<Record>& expected) {
  Reader reader;
  const std::vector<Received> found = reader.read(topic, partition, 0, expected.size());
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found[i].offset, static_cast<std::int64_t>(i));
    ASSERT_EQ(found[i].record, expected[i]) << "at offset " << i;
  }
}

std::string test_name() {
  std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  for (char& c : name) {
    if (c == '/') c = '-';
  }
  return name;
}

class Acks : public ::testing::TestWithParam<std::string> {};

TEST_P(Acks, every_record_arrives_in_order) {
  const std::string topic = test_name();
  create_topic(topic, 1);
  const std::vector<Record> sent = records(2'000);
  Sender sender(Settings{{"acks", GetParam()}});
  for (const Record& record : sent) {
    sender.send(topic, 0, record);
  }
  const std::deque<Delivery> deliveries = sender.flush();
  for (const Delivery& delivery : deliveries) {
    ASSERT_EQ(delivery.error, RdKafka::ERR_NO_ERROR);
  }
  if (GetParam() != "0") {
    expect_all_delivered(deliveries);
  }
  expect_partition_holds(topic, 0, sent);
}

INSTANTIATE_TEST_SUITE_P(Each, Acks, ::testing::Values("0", "1", "all"),
                         [](const auto& test) { return "acks_" + test.param; });

class Compression : public ::testing::TestWithParam<std::string> {};

TEST_P(Compression, batches_come_back_as_they_were_sent) {
  const std::string topic = test_name();
  create_topic(topic, 1);
  std::vector<Record> sent = records(1'000, 1'000);
  sent.push_back({"large", text(600'000, 7), {}, 1'700'000'000'000});
  Sender sender(Settings{{"acks", "all"}, {"compression.type", GetParam()}, {"linger.ms", "20"}});
  for (const Record& record : sent) {
    sender.send(topic, 0, record);
  }
  expect_all_delivered(sender.flush());
  expect_partition_holds(topic, 0, sent);
}

TEST_P(Compression, reading_may_start_inside_a_batch) {
  const std::string topic = test_name();
  create_topic(topic, 1);
  const std::vector<Record> sent = records(500);
  Sender sender(Settings{{"compression.type", GetParam()}, {"linger.ms", "200"}});
  for (const Record& record : sent) {
    sender.send(topic, 0, record);
  }
  expect_all_delivered(sender.flush());
  for (const std::int64_t start : {0, 1, 249, 499}) {
    Reader reader;
    const auto found = reader.read(topic, 0, start, 1);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].offset, start);
    EXPECT_EQ(found[0].record, sent[static_cast<std::size_t>(start)]);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Compression, ::testing::Values("none", "gzip", "snappy", "lz4", "zstd"),
                         [](const auto& test) { return test.param; });

TEST(Idempotence, pipelined_batches_get_consecutive_offsets) {
  create_topic("idempotent", 2);
  Sender sender(Settings{{"enable.idempotence", "true"}, {"batch.num.messages", "50"}, {"linger.ms", "1"}});
  const std::vector<Record> sent = records(5'000);
  for (std::int32_t partition : {0, 1}) {
    for (const Record& record : sent) {
      sender.send("idempotent", partition, record);
    }
    expect_all_delivered(sender.flush());
    expect_partition_holds("idempotent", partition, sent);
  }
}

TEST(Idempotence, producers_do_not_disturb_each_other) {
  create_topic("idempotent-two", 1);
  Sender one(Settings{{"enable.idempotence", "true"}});
  Sender other(Settings{{"enable.idempotence", "true"}});
  const std::vector<Record> sent = records(300);
  for (const Record& record : sent) {
    one.send("idempotent-two", 0, record);
    other.send("idempotent-two", 0, record);
  }
  for (Sender* sender : {&one, &other}) {
    for (const Delivery& delivery : sender->flush()) {
      ASSERT_EQ(delivery.error, RdKafka::ERR_NO_ERROR);
    }
  }
  Reader reader;
  EXPECT_EQ(reader.read("idempotent-two", 0, 0, 600).size(), 600U);
}

TEST(Records, headers_keep_order_repetition_and_null) {
  create_topic("headers", 1);
  std::vector<Record> sent = records(3);
  sent[0].headers = {{"trace", "1"}, {"trace", "2"}, {"none", std::nullopt}, {"empty", ""}, {"", "no name"}};
  sent[1].headers = {{"binary", std::string("\0\xff\n\x80", 4)}, {"größe", std::string(70'000, 'x')}};
  Sender sender;
  for (const Record& record : sent) {
    sender.send("headers", 0, record);
  }
  expect_all_delivered(sender.flush());
  expect_partition_holds("headers", 0, sent);
}

TEST(Records, null_and_empty_are_told_apart) {
  create_topic("nulls", 1);
  const std::int64_t now = 1'700'000'000'000;
  const std::vector<Record> sent = {
      {std::nullopt, std::nullopt, {}, now}, {"", "", {}, now},
      {std::nullopt, "", {}, now},           {"", std::nullopt, {}, now},
      {"k", std::nullopt, {}, now},          {std::nullopt, "v", {}, now},
  };
  Sender sender;
  for (const Record& record : sent) {
    sender.send("nulls", 0, record);
  }
  expect_all_delivered(sender.flush());
  expect_partition_holds("nulls", 0, sent);
}

TEST(Records, each_goes_to_the_partition_it_was_sent_to) {
  create_topic("partitions", 5);
  Sender sender;
  std::vector<std::vector<Record>> sent(5);
  const std::vector<Record> all = records(1'000);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t partition = (i * i) % 5;
    sent[partition].push_back(all[i]);
    sender.send("partitions", static_cast<std::int32_t>(partition), all[i]);
  }
  for (const Delivery& delivery : sender.flush()) {
    ASSERT_EQ(delivery.error, RdKafka::ERR_NO_ERROR);
  }
  for (std::size_t partition = 0; partition < sent.size(); ++partition) {
    expect_partition_holds("partitions", static_cast<std::int32_t>(partition), sent[partition]);
  }
}

TEST(Records, equal_keys_share_a_partition) {
  create_topic("keys", 4);
  Sender sender;
  for (int i = 0; i < 400; ++i) {
    sender.send("keys", RdKafka::Topic::PARTITION_UA, {"key-" + std::to_string(i % 20), "v", {}, 0});
  }
  const std::deque<Delivery> deliveries = sender.flush();
  for (std::size_t i = 20; i < deliveries.size(); ++i) {
    ASSERT_EQ(deliveries[i].error, RdKafka::ERR_NO_ERROR);
    ASSERT_EQ(deliveries[i].partition, deliveries[i % 20].partition);
  }
}

TEST(Refusal, record_above_the_topics_limit_fails_alone) {
  create_topic("small", 1, {{"max.message.bytes", "2000"}});
  Sender sender(Settings{{"linger.ms", "0"}});
  sender.send("small", 0, {"a", text(100, 1), {}, 0});
  const auto before = sender.flush();
  sender.send("small", 0, {"b", text(50'000, 2), {}, 0});
  const auto refused = sender.flush();
  sender.send("small", 0, {"c", text(100, 3), {}, 0});
  const auto after = sender.flush();
  EXPECT_EQ(before[0].error, RdKafka::ERR_NO_ERROR);
  EXPECT_EQ(refused[0].error, RdKafka::ERR_MSG_SIZE_TOO_LARGE) << RdKafka::err2str(refused[0].error);
  EXPECT_EQ(after[0].error, RdKafka::ERR_NO_ERROR);
  EXPECT_EQ(after[0].offset, 1);
}

TEST(Refusal, compacted_topic_wants_keys) {
  create_topic("compacted", 1, {{"cleanup.policy", "compact"}});
  Sender sender;
  sender.send("compacted", 0, {std::nullopt, "v", {}, 0});
  EXPECT_EQ(sender.flush()[0].error, RdKafka::ERR_INVALID_RECORD);
  sender.send("compacted", 0, {"k", "v", {}, 0});
  EXPECT_EQ(sender.flush()[0].error, RdKafka::ERR_NO_ERROR);
}

TEST(Refusal, partition_beyond_the_last_is_unknown) {
  create_topic("one-partition", 1);
  Sender sender;
  sender.send("one-partition", 7, {"k", "v", {}, 0});
  EXPECT_EQ(sender.flush()[0].error, RdKafka::ERR__UNKNOWN_PARTITION);
}

TEST(AutoCreation, producing_to_a_new_name_creates_the_topic) {
  Sender sender;
  sender.send("made-by-producing", 0, {"k", "v", {}, 0});
  EXPECT_EQ(sender.flush()[0].error, RdKafka::ERR_NO_ERROR);
}

TEST(OldProtocol, client_that_skips_version_negotiation_is_served) {
  create_topic("fixed-versions", 1);
  const Settings old = {{"api.version.request", "false"}, {"broker.version.fallback", "1.0.0"}};
  Sender sender(old);
  sender.send("fixed-versions", 0, {"k", "v", {}, 1'700'000'000'000});
  expect_all_delivered(sender.flush());
  Reader reader(old);
  EXPECT_EQ(reader.read("fixed-versions", 0, 0, 1).size(), 1U);
}

}  // namespace
}  // namespace barnabas::compat
