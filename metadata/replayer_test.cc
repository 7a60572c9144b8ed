#include "metadata/replayer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "metadata/image_writer.h"
#include "metadata/metadata_test_support.h"
#include "metadata/snapshot.h"

namespace barnabas::metadata {
namespace {

using namespace testing;

MetadataImagePtr empty_image() {
  return std::make_shared<const MetadataImage>();
}

MetadataImagePtr kafka_log_image() {
  const std::string log = kafka_file("00000000000000000000.log");
  Replayer replayer(empty_image());
  protocol::BatchIterator batches(as_byte_view(log));
  while (batches.next() == protocol::BatchIterator::Step::batch) {
    const auto done = replayer.replay(batches.batch());
    EXPECT_TRUE(done) << done.error().message;
  }
  const auto next = replayer.take();
  EXPECT_TRUE(next && *next);
  return replayer.image();
}

void expect_same(const MetadataImage& left, const MetadataImage& right) {
  ASSERT_EQ(left.topics_by_name.size(), right.topics_by_name.size());
  for (const auto& topic : left.topics_by_name) {
    const auto* other = right.topic(topic->name);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(topic->id, other->id);
    EXPECT_EQ(right.topic(topic->id), other);
    ASSERT_EQ(topic->partition_count(), other->partition_count());
    for (std::size_t i = 0; i < topic->partitions.size(); ++i)
      EXPECT_EQ(*topic->partitions[i], *other->partitions[i]);
  }
  ASSERT_EQ(left.configs.size(), right.configs.size());
  for (const auto& config : left.configs)
    EXPECT_EQ(config->values, right.config(config->resource.type, config->resource.name)->values);
  ASSERT_EQ(left.client_quotas.size(), right.client_quotas.size());
  for (const auto& quotas : left.client_quotas)
    EXPECT_EQ(quotas->values, (*right.client_quotas.find(quotas->entity))->values);
  ASSERT_EQ(left.kept.size(), right.kept.size());
  for (const auto& kept : left.kept) EXPECT_EQ(kept->value, (*right.kept.find(kept->key))->value);
  ASSERT_EQ(left.brokers.size(), right.brokers.size());
  for (const auto& [id, broker] : left.brokers) EXPECT_EQ(*broker, *right.brokers.at(id));
  EXPECT_EQ(left.features, right.features);
  EXPECT_EQ(left.kraft_version, right.kraft_version);
  EXPECT_EQ(left.voters, right.voters);
  EXPECT_EQ(left.next_producer_id, right.next_producer_id);
  EXPECT_EQ(left.partition_count, right.partition_count);
}

TEST(Replayer, the_log_of_a_kafka_node_gives_its_state_after_a_clean_stop) {
  const auto image = kafka_log_image();
  EXPECT_EQ(image->position.offset, Offset{498});
  EXPECT_EQ(image->position.epoch, LeaderEpoch{1});
  EXPECT_EQ(image->controller, NodeId{1});
  EXPECT_EQ(image->topics_by_name.size(), 125u);
  EXPECT_EQ(image->partition_count, 125u);
  EXPECT_EQ(image->metadata_version(), 33);
  EXPECT_EQ(image->features.size(), 6u);
  EXPECT_EQ(image->next_producer_id, 1000);
  EXPECT_EQ(image->config_value(ConfigResourceType::broker, "", "min.insync.replicas"), "1");
  const auto* broker = image->broker(NodeId{1});
  ASSERT_NE(broker, nullptr);
  EXPECT_TRUE(broker->fenced);
  EXPECT_EQ(broker->epoch, BrokerEpoch{21});
  const auto* partition = image->partition("accepted-plain", PartitionIndex{0});
  ASSERT_NE(partition, nullptr);
  EXPECT_EQ(partition->leader, no_node);
  EXPECT_EQ(partition->leader_epoch, LeaderEpoch{1});
  EXPECT_EQ(partition->partition_epoch, 1);
  EXPECT_EQ(partition->eligible_leader_replicas, std::vector{NodeId{1}});
  EXPECT_EQ(image->kept.size(), 1u);  // the registered controller
}

TEST(Replayer, an_image_written_as_records_is_the_same_image_again) {
  const auto image = kafka_log_image();
  Replayer replayer(empty_image());
  const auto batch = batch_of(records_of(*image));
  ASSERT_TRUE(replayer.replay(*protocol::RecordBatchView::parse(batch)));
  ASSERT_TRUE(replayer.take());
  expect_same(*image, *replayer.image());
}

TEST(Snapshot, the_one_that_kafka_formats_a_directory_with_is_read) {
  const std::string file = kafka_file("00000000000000000000-0000000000.checkpoint");
  const auto image = read_snapshot(as_byte_view(file), {}, {});
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ((*image)->metadata_version(), 33);
  EXPECT_EQ((*image)->features.size(), 6u);
  EXPECT_EQ((*image)->position.offset, Offset{-1});
}

TEST(Snapshot, is_the_same_image_when_read_back_and_refused_when_anything_is_missing) {
  auto image = std::make_shared<MetadataImage>(*kafka_log_image());
  image->kraft_version = 1;
  image->voters = {{NodeId{1}, id(200), {{"CONTROLLER", "localhost", 9093, 0}}, {0, 1}}};
  const SnapshotId snapshot{image->position.offset + 1, image->position.epoch};
  const auto file = write_snapshot(*image, TimestampMs{77});
  const auto again = read_snapshot(file, snapshot, {});
  ASSERT_TRUE(again) << again.error().message;
  expect_same(*image, **again);
  EXPECT_EQ((*again)->position.offset, image->position.offset);
  for (std::size_t bytes = 0; bytes < file.size(); bytes += bytes < 2000 ? 1 : 97)
    EXPECT_FALSE(read_snapshot(ByteView(file).first(bytes), snapshot, {})) << bytes;
}

TEST(Snapshot, names_are_twenty_and_ten_digits) {
  const SnapshotId id{Offset{5207}, LeaderEpoch{5}};
  EXPECT_EQ(id.file_name(), "00000000000000005207-0000000005.checkpoint");
  EXPECT_EQ(SnapshotId::parse_file_name(id.file_name()), id);
  for (const char* name :
       {"00000000000000005207-0000000005.checkpoint.part", "5207-5.checkpoint", "",
        "0000000000000000-207-0000000005.checkpoint", "00000000000000005207-000000000x.checkpoint"})
    EXPECT_EQ(SnapshotId::parse_file_name(name), std::nullopt) << name;
}

TEST(Replayer, a_transaction_shows_only_when_it_has_ended) {
  RecordList begin;
  begin.add(topic("before", id(1)));
  begin.add(partition(id(1), 0), 2);
  begin.add(protocol::BeginTransactionRecord{});
  begin.add(topic("t", id(2)));
  RecordList end;
  end.add(partition(id(2), 0), 2);
  end.add(protocol::EndTransactionRecord{});

  Replayer replayer(empty_image());
  ASSERT_TRUE(replayer.replay(*protocol::RecordBatchView::parse(batch_of(begin))));
  EXPECT_TRUE(replayer.in_transaction());
  EXPECT_FALSE(*replayer.take());
  ASSERT_TRUE(replayer.replay(*protocol::RecordBatchView::parse(batch_of(end, Offset{4}))));
  const auto next = replayer.take();
  ASSERT_TRUE(next && *next);
  EXPECT_NE((*next)->image->topic("before"), nullptr);
  EXPECT_NE((*next)->image->topic("t"), nullptr);
}

TEST(Replayer, an_aborted_transaction_leaves_nothing) {
  RecordList records;
  records.add(topic("before", id(1)));
  records.add(partition(id(1), 0), 2);
  records.add(protocol::BeginTransactionRecord{});
  records.add(topic("t.x", id(2)));
  records.add(partition(id(1), 1), 2);
  records.add(protocol::AbortTransactionRecord{});
  records.add(config(ConfigResourceType::topic, "before", "a", "b"));
  Replayer replayer(empty_image());
  ASSERT_TRUE(replayer.replay(*protocol::RecordBatchView::parse(batch_of(records))));
  const auto next = replayer.take();
  ASSERT_TRUE(next && *next);
  EXPECT_EQ((*next)->image->topics_by_name.size(), 1u);
  EXPECT_EQ((*next)->image->topic("before")->partition_count(), 1);
  EXPECT_TRUE((*next)->image->colliding_names.empty());
  EXPECT_EQ((*next)->image->configs.size(), 1u);
}

TEST(Replayer, stops_at_a_record_type_that_it_does_not_know) {
  RecordList records;
  const std::byte unknown[] = {std::byte{1}, std::byte{0x7f}, std::byte{0}, std::byte{0}};
  records.add_framed(unknown);
  Replayer replayer(empty_image());
  const auto done = replayer.replay(*protocol::RecordBatchView::parse(batch_of(records, Offset{42})));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::unsupported);
  EXPECT_TRUE(done.error().message.starts_with("metadata record at offset 42")) << done.error().message;
}

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// Every golden record of every type and version: applied, or refused with an error, and what is kept is kept
/// byte for byte.
TEST(Replayer, every_golden_record_is_applied_or_refused_and_what_is_kept_is_kept_unchanged) {
  const std::string directory = std::string(BARNABAS_SOURCE_DIR) + "/protocol/vectors/messages";
  const auto base = apply(MetadataImage{}, topic("t", id(1)), partition(id(1), 0)).image;
  int applied = 0;
  int kept = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      const auto vector = nlohmann::json::parse(line);
      const std::string name = vector["message"];
      if (!name.ends_with("Record") || !vector.contains("framedHex")) continue;
      const auto framed = from_hex(vector["framedHex"]);
      if (!protocol::decode_metadata_record(framed)) continue;  // records of other logs
      MetadataDelta delta(*base);
      if (!delta.replay(framed)) continue;
      const auto next = std::move(delta).finish({});
      if (!next) continue;
      ++applied;
      if (next->image->kept.empty()) continue;
      ++kept;
      EXPECT_EQ((*next->image->kept.begin())->value, framed) << name;
      const auto again = batch_of(records_of(*next->image));
      EXPECT_NE(std::search(again.begin(), again.end(), framed.begin(), framed.end()), again.end()) << name;
    }
  }
  EXPECT_GT(applied, 60);
  EXPECT_GT(kept, 10);
}

/// Makes topics one after the other, each with an image of its own.
class TopicMaker {
 public:
  void make(int count) {
    for (; count > 0; --count) {
      RecordList records;
      Uuid topic_id;
      store_big_endian(topic_id.bytes.data(), ++made_);
      records.add(topic("topic." + std::to_string(made_), topic_id));
      records.add(partition(topic_id, 0), 2);
      ASSERT_TRUE(replayer_.replay(*protocol::RecordBatchView::parse(batch_of(records, next_))));
      next_ += 2;
      ASSERT_TRUE(replayer_.take());
    }
  }
  /// Processor time, since the machine may have other work.
  std::clock_t cost_of(int count) {
    const auto start = std::clock();
    make(count);
    return std::clock() - start;
  }
  std::size_t topics() const { return replayer_.image()->topics_by_name.size(); }

 private:
  Replayer replayer_{empty_image()};
  Offset next_{0};
  int made_ = 0;
};

TEST(Replayer, a_topic_beside_ten_thousand_costs_little_more_than_one_beside_a_few) {
  TopicMaker maker;
  maker.make(500);
  const auto beside_few = maker.cost_of(500);
  maker.make(9'000);
  const auto beside_many = maker.cost_of(500);
  EXPECT_EQ(maker.topics(), 10'500u);
  EXPECT_LT(beside_many, 6 * beside_few);
}

}  // namespace
}  // namespace barnabas::metadata
