#include "broker/replica_manager.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "metadata/metadata_test_support.h"
#include "storage/log_manager_test_support.h"

namespace barnabas::broker {
namespace {

using metadata::MetadataImagePtr;
using metadata::testing::id;
using protocol::ErrorCode;
using storage::TopicPartition;

/// A broker's storage and its replica manager over the records of a metadata log.
class ReplicaManagerTest : public ::testing::Test {
 protected:
  void start(std::vector<std::string> paths = {"/data"}) {
    node.emplace(disk, std::move(paths));
    node->options.on_offline = [this](const storage::LogDirectory&, const std::vector<TopicPartition>& lost) {
      if (replicas) replicas->lose(lost);
    };
    const auto loaded = node->start();
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto resolved =
        (*node)->resolve_doubles([this](const TopicPartition& which) -> storage::Assignment {
          const auto* topic = image->topic(which.topic);
          if (topic == nullptr) return {};
          return {topic->id, topic->partition(which.partition)->directory_of(NodeId{1})};
        });
    ASSERT_TRUE(resolved) << resolved.error().message;
    replicas.emplace(NodeId{1}, **node, config, services);
    replicas->apply(metadata::all_of(*image), image);
  }
  void stop() {
    replicas.reset();
    ASSERT_TRUE(node->stop());
    node.reset();
  }

  template <class... Records>
  void change(const Records&... records) {
    auto next = metadata::testing::apply(*image, records...);
    image = next.image;
    if (replicas) replicas->apply(next.changes, image);
  }
  void create_topic(std::string_view name, const Uuid& topic_id, int32_t partitions) {
    change(metadata::testing::topic(name, topic_id));
    for (int32_t i = 0; i < partitions; ++i) change(partition(topic_id, i));
  }
  /// In a directory that this broker chooses.
  static protocol::PartitionRecord partition(const Uuid& topic_id, int32_t index) {
    auto record = metadata::testing::partition(topic_id, index);
    record.directories = {metadata::directory_unassigned};
    return record;
  }
  void delete_topic(const Uuid& topic_id) {
    protocol::RemoveTopicRecord record;
    record.topic_id = topic_id;
    change(record);
  }

  ErrorCode find(std::string_view topic, int32_t index) {
    return replicas->find(topic, PartitionIndex{index}).error;
  }
  Offset append(std::string_view topic, int32_t index = 0) {
    const auto found = replicas->find(topic, PartitionIndex{index});
    EXPECT_TRUE(found.partition);
    auto batch = protocol::single_record_batch(TimestampMs{5}, std::nullopt, as_byte_view("value"));
    const auto appended = found.partition->append(batch, false, TimestampMs{5});
    return appended ? appended->last_offset + 1 : no_offset;
  }
  /// Names in a data directory that begin so.
  std::vector<std::string> directories(const std::string& parent, const std::string& prefix) {
    std::vector<std::string> names;
    const auto entries = disk.list(parent);
    EXPECT_TRUE(entries);
    for (const auto& entry : *entries)
      if (entry.name.starts_with(prefix)) names.push_back(entry.name);
    return names;
  }

  io::FakeDisk disk;
  io::DiskPool pool{{.name = "disk", .threads = 1}};
  metadata::StaticConfig config;
  std::optional<storage::NodeStorage> node;
  PartitionServices services{
      pool, [this](const TopicPartition& name, const Error& error) { (*node)->report(name, error); }, true};
  MetadataImagePtr image = std::make_shared<const metadata::MetadataImage>();
  std::optional<ReplicaManager> replicas;
};

TEST_F(ReplicaManagerTest, follows_topics_as_they_come_and_go) {
  start();
  EXPECT_EQ(find("t", 0), ErrorCode::unknown_topic_or_partition);
  create_topic("t", id(1), 2);
  EXPECT_EQ(find("t", 1), ErrorCode::none);
  EXPECT_EQ(find("t", 2), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(replicas->find(id(1), PartitionIndex{0}).error, ErrorCode::none);
  EXPECT_EQ(append("t"), Offset{1});
  delete_topic(id(1));
  EXPECT_EQ(find("t", 0), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(replicas->find(id(1), PartitionIndex{0}).error, ErrorCode::unknown_topic_id);
  create_topic("t", id(2), 1);
  EXPECT_EQ(append("t"), Offset{1});
}

TEST_F(ReplicaManagerTest, a_log_of_no_topic_is_set_aside_at_start) {
  start();
  create_topic("known", id(1), 1);
  create_topic("lost", id(2), 1);
  append("known");
  append("lost");
  stop();
  delete_topic(id(2));
  start();
  EXPECT_EQ(append("known"), Offset{2});
  const auto left = directories("/data", "lost-0");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_TRUE(left.front().ends_with("-stray")) << left.front();
  EXPECT_FALSE((*node)->get({"lost", PartitionIndex{0}}));
}

TEST_F(ReplicaManagerTest, a_log_of_an_earlier_topic_of_the_name_is_set_aside) {
  start();
  create_topic("t", id(1), 1);
  append("t");
  stop();
  delete_topic(id(1));
  create_topic("t", id(2), 1);
  start();
  EXPECT_EQ(append("t"), Offset{1});
  EXPECT_EQ(directories("/data", "t-0").size(), 2U);
}

TEST_F(ReplicaManagerTest, a_log_in_a_failed_directory_is_not_made_anew_elsewhere) {
  start({"/one", "/two"});
  create_topic("t", id(1), 2);
  const std::string lost = directories("/one", "t-").at(0);
  const int32_t lost_index = lost == "t-0" ? 0 : 1;
  stop();
  disk.add_fault({.path_part = "/one", .for_good = true});
  start({"/one", "/two"});
  EXPECT_EQ(find("t", lost_index), ErrorCode::kafka_storage_error);
  EXPECT_EQ(find("t", 1 - lost_index), ErrorCode::none);
  change(partition(id(1), 2));
  EXPECT_EQ(find("t", lost_index), ErrorCode::kafka_storage_error);
  EXPECT_EQ(find("t", 2), ErrorCode::none) << "a new partition goes where there is a disk";
  EXPECT_TRUE(directories("/two", lost).empty());
}

TEST_F(ReplicaManagerTest, a_failed_directory_takes_its_partitions_and_no_others) {
  start({"/one", "/two"});
  create_topic("t", id(1), 2);
  const int32_t lost_index = directories("/one", "t-").at(0) == "t-0" ? 0 : 1;
  disk.add_fault({.call = io::DiskCall::write, .path_part = "/one/t-", .for_good = true});
  EXPECT_EQ(append("t", lost_index), no_offset);
  EXPECT_EQ(find("t", lost_index), ErrorCode::kafka_storage_error);
  EXPECT_EQ(append("t", 1 - lost_index), Offset{1});
}

class SettingsTest : public ReplicaManagerTest {
 protected:
  std::shared_ptr<const TopicSettings> settings(std::string_view topic) {
    return replicas->find(topic, PartitionIndex{0}).partition->settings();
  }
};

TEST_F(SettingsTest, of_a_topic_change_that_topic_alone) {
  using enum metadata::ConfigResourceType;
  start();
  create_topic("t", id(1), 1);
  create_topic("u", id(2), 1);
  const auto before = settings("u");
  change(metadata::testing::config(topic, "t", "max.message.bytes", "1000"));
  EXPECT_EQ(settings("t")->log.max_message_bytes, 1000);
  EXPECT_EQ(settings("u"), before) << "not even resolved anew";
  change(metadata::testing::config(topic, "t", "max.message.bytes", std::nullopt));
  EXPECT_EQ(settings("t")->log.max_message_bytes, 1'048'588);
}

TEST_F(SettingsTest, of_brokers_reach_the_topics_that_have_none_of_their_own) {
  using enum metadata::ConfigResourceType;
  start();
  create_topic("t", id(1), 1);
  create_topic("own", id(2), 1);
  change(metadata::testing::config(topic, "own", "max.message.bytes", "2000"));
  change(metadata::testing::config(broker, "", "message.max.bytes", "1000"));
  EXPECT_EQ(settings("t")->log.max_message_bytes, 1000);
  EXPECT_EQ(settings("own")->log.max_message_bytes, 2000);
  change(metadata::testing::config(broker, "1", "message.max.bytes", "1500"));
  EXPECT_EQ(settings("t")->log.max_message_bytes, 1500);
  change(metadata::testing::config(broker, "1", "producer.id.expiration.ms", "77"));
  EXPECT_EQ(settings("own")->log.producer_id_expiration_ms, 77);
  create_topic("later", id(3), 1);
  EXPECT_EQ(settings("later")->log.max_message_bytes, 1500);
}

TEST_F(SettingsTest, of_brokers_that_topics_do_not_depend_on_touch_none) {
  using enum metadata::ConfigResourceType;
  start();
  create_topic("t", id(1), 1);
  const auto before = settings("t");
  change(metadata::testing::config(broker, "", "max.connections", "5"));
  change(metadata::testing::config(broker, "2", "message.max.bytes", "1000"));
  change(metadata::testing::config(broker, "", "message.max.bytes", "nonsense"));
  EXPECT_EQ(settings("t"), before);
}

TEST_F(SettingsTest, that_are_written_oddly_count_as_what_they_mean) {
  using enum metadata::ConfigResourceType;
  start();
  create_topic("t", id(1), 1);
  change(metadata::testing::config(topic, "t", "compression.type", " gzip"),
         metadata::testing::config(topic, "t", "retention.ms", " +5 "),
         metadata::testing::config(topic, "t", "min.cleanable.dirty.ratio", "0.25f"),
         metadata::testing::config(topic, "t", "cleanup.policy", "compact , compact"));
  EXPECT_TRUE(settings("t")->target_compression.has_value());
  EXPECT_EQ(settings("t")->log.retention_ms, 5);
  EXPECT_EQ(settings("t")->log.min_cleanable_dirty_ratio, 0.25);
  EXPECT_TRUE(settings("t")->log.cleanup_compact);
  EXPECT_FALSE(settings("t")->log.cleanup_delete);
}

TEST_F(ReplicaManagerTest, a_log_for_which_there_was_no_room_is_made_once_there_is) {
  start();
  disk.add_fault({.call = io::DiskCall::write, .path_part = "/data/t-1", .nth = 1, .system_error = ENOSPC});
  disk.add_fault({.call = io::DiskCall::write, .path_part = "/data/t-1", .nth = 2, .system_error = ENOSPC});
  create_topic("t", id(1), 2);
  EXPECT_EQ(find("t", 0), ErrorCode::none);
  EXPECT_EQ(find("t", 1), ErrorCode::kafka_storage_error);
  Instant now = std::chrono::steady_clock::now();
  for (int attempts = 0; find("t", 1) != ErrorCode::none; ++attempts) {
    ASSERT_LT(attempts, 5);
    const Instant next = replicas->retry_failed(now);
    if (next != Instant::max()) now = next;
  }
  EXPECT_EQ(append("t", 1), Offset{1});
  EXPECT_EQ(replicas->retry_failed(now), Instant::max());
}

TEST_F(ReplicaManagerTest, a_topic_whose_directory_was_lost_can_be_deleted_and_made_again) {
  start({"/one", "/two"});
  create_topic("t", id(1), 1);
  disk.add_fault({.call = io::DiskCall::write, .path_part = "/one/t-", .for_good = true});
  EXPECT_EQ(append("t"), no_offset);
  delete_topic(id(1));
  create_topic("t", id(2), 1);
  EXPECT_EQ(append("t"), Offset{1});
  EXPECT_EQ(directories("/two", "t-0").size(), 1U);
}

TEST_F(ReplicaManagerTest, a_topic_made_again_while_its_old_log_was_offline_is_the_one_that_stays) {
  start({"/one", "/two"});
  create_topic("t", id(1), 1);
  append("t");
  ASSERT_EQ(directories("/one", "t-0").size(), 1U);
  stop();
  disk.set_read_only("/one", true);
  start({"/one", "/two"});
  EXPECT_EQ(find("t", 0), ErrorCode::kafka_storage_error);
  delete_topic(id(1));
  create_topic("t", id(2), 1);
  EXPECT_EQ(append("t"), Offset{1});
  EXPECT_EQ(append("t"), Offset{2});
  replicas.reset();
  node.reset();
  disk.set_read_only("/one", false);
  start({"/one", "/two"});
  EXPECT_EQ(append("t"), Offset{3});
  const auto left = directories("/one", "t-0");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_TRUE(left.front().ends_with("-stray")) << left.front();
}

}  // namespace
}  // namespace barnabas::broker
