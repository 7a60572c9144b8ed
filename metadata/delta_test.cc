#include "metadata/delta.h"

#include <gtest/gtest.h>

#include "metadata/metadata_test_support.h"

namespace barnabas::metadata {
namespace {

using namespace testing;

class Delta : public ::testing::Test {
 protected:
  MetadataImagePtr with_topic(int partitions = 1) {
    MetadataDelta delta(MetadataImage{});
    EXPECT_TRUE(delta.replay(protocol::MetadataRecord(topic("t", id(1))), {}));
    for (int i = 0; i < partitions; ++i)
      EXPECT_TRUE(delta.replay(protocol::MetadataRecord(partition(id(1), i)), {}));
    return std::move(delta).finish({})->image;
  }
  static protocol::PartitionChangeRecord change(int32_t index = 0) {
    protocol::PartitionChangeRecord record;
    record.topic_id = id(1);
    record.partition_id = index;
    return record;
  }
  static ErrorKind error_of(const MetadataImage& base, const protocol::MetadataRecord& record) {
    MetadataDelta delta(base);
    const auto done = delta.replay(record, {});
    if (!done) return done.error().kind;
    const auto next = std::move(delta).finish({});
    EXPECT_FALSE(next);
    return next ? ErrorKind::closed : next.error().kind;
  }
};

TEST_F(Delta, a_topic_is_found_by_name_and_id) {
  const auto image = with_topic(3);
  ASSERT_NE(image->topic("t"), nullptr);
  EXPECT_EQ(image->topic("t"), image->topic(id(1)));
  EXPECT_EQ(image->topic("t")->partition_count(), 3);
  EXPECT_EQ(image->partition_count, 3u);
  EXPECT_EQ(image->partition("t", PartitionIndex{2})->leader, NodeId{1});
  EXPECT_EQ(image->partition("t", PartitionIndex{3}), nullptr);
  EXPECT_EQ(image->partition("t", PartitionIndex{-1}), nullptr);
  EXPECT_EQ(image->topic("u"), nullptr);
}

TEST_F(Delta,
       every_change_of_a_partition_raises_its_partition_epoch_and_only_a_leader_field_the_leader_epoch) {
  const auto image = with_topic();
  auto isr_only = change();
  isr_only.isr = std::vector<int32_t>{1, 2};
  auto next = apply(*image, isr_only);
  const auto* partition = next.image->partition("t", PartitionIndex{0});
  EXPECT_EQ(partition->partition_epoch, 1);
  EXPECT_EQ(partition->leader_epoch, LeaderEpoch{0});
  EXPECT_EQ(partition->isr, (std::vector{NodeId{1}, NodeId{2}}));

  auto same_leader = change();
  same_leader.leader = 1;
  next = apply(*next.image, same_leader);
  partition = next.image->partition("t", PartitionIndex{0});
  EXPECT_EQ(partition->partition_epoch, 2);
  EXPECT_EQ(partition->leader_epoch, LeaderEpoch{1});
  EXPECT_EQ(partition->leader, NodeId{1});

  auto no_leader = change();
  no_leader.leader = -1;
  no_leader.isr = std::vector<int32_t>{};
  no_leader.eligible_leader_replicas = std::vector<int32_t>{1};
  next = apply(*next.image, no_leader);
  partition = next.image->partition("t", PartitionIndex{0});
  EXPECT_EQ(partition->leader, no_node);
  EXPECT_EQ(partition->leader_epoch, LeaderEpoch{2});
  EXPECT_TRUE(partition->isr.empty());
  EXPECT_EQ(partition->eligible_leader_replicas, std::vector{NodeId{1}});
  EXPECT_EQ(next.changes.changed_topics.size(), 1u);
}

TEST_F(Delta, an_old_image_stays_as_it_was) {
  const auto image = with_topic();
  auto leader = change();
  leader.leader = 7;
  const auto next = apply(*image, leader);
  EXPECT_EQ(image->partition("t", PartitionIndex{0})->leader, NodeId{1});
  EXPECT_EQ(next.image->partition("t", PartitionIndex{0})->leader, NodeId{7});
}

TEST_F(Delta, partitions_may_come_in_any_order_but_without_holes) {
  const auto next = apply(MetadataImage{}, topic("t", id(1)), partition(id(1), 2), partition(id(1), 0),
                          partition(id(1), 1));
  EXPECT_EQ(next.image->topic("t")->partition_count(), 3);
  EXPECT_EQ(error_of(*next.image, partition(id(1), 4)), ErrorKind::corrupt);
  EXPECT_EQ(error_of(*next.image, partition(id(1), 2'000'000'000)), ErrorKind::corrupt);
  EXPECT_EQ(error_of(*next.image, partition(id(1), -1)), ErrorKind::corrupt);
}

TEST_F(Delta, a_removed_topic_takes_its_configs_with_it) {
  const auto image = with_topic();
  const auto configured = apply(*image, config(ConfigResourceType::topic, "t", "retention.ms", "5"));
  EXPECT_EQ(configured.image->config_value(ConfigResourceType::topic, "t", "retention.ms"), "5");
  protocol::RemoveTopicRecord remove;
  remove.topic_id = id(1);
  const auto removed = apply(*configured.image, remove);
  EXPECT_EQ(removed.image->topic("t"), nullptr);
  EXPECT_EQ(removed.image->topic(id(1)), nullptr);
  EXPECT_EQ(removed.image->config(ConfigResourceType::topic, "t"), nullptr);
  EXPECT_EQ(removed.image->partition_count, 0u);
  ASSERT_EQ(removed.changes.deleted_topics.size(), 1u);
  EXPECT_EQ(removed.changes.deleted_topics[0]->id, id(1));
}

TEST_F(Delta, a_name_that_comes_back_in_the_same_change_is_a_deletion_and_a_creation) {
  protocol::RemoveTopicRecord remove;
  remove.topic_id = id(1);
  const auto next = apply(*with_topic(2), remove, topic("t", id(2)), partition(id(2), 0));
  ASSERT_EQ(next.changes.deleted_topics.size(), 1u);
  EXPECT_EQ(next.changes.deleted_topics[0]->id, id(1));
  ASSERT_EQ(next.changes.changed_topics.size(), 1u);
  EXPECT_EQ(next.image->topic("t")->id, id(2));
  EXPECT_EQ(next.image->partition_count, 1u);
}

TEST_F(Delta, a_topic_made_and_removed_in_one_change_was_never_there) {
  protocol::RemoveTopicRecord remove;
  remove.topic_id = id(1);
  const auto next = apply(MetadataImage{}, topic("a.b", id(1)), partition(id(1), 0), remove);
  EXPECT_TRUE(next.image->topics_by_name.empty());
  EXPECT_TRUE(next.image->colliding_names.empty());
  EXPECT_TRUE(next.changes.deleted_topics.empty());
  EXPECT_TRUE(next.changes.changed_topics.empty());
}

TEST_F(Delta, references_to_nothing_are_corrupt) {
  const auto image = with_topic();
  auto unknown = change();
  unknown.topic_id = id(9);
  protocol::RemoveTopicRecord remove;
  remove.topic_id = id(9);
  EXPECT_EQ(error_of(*image, unknown), ErrorKind::corrupt);
  EXPECT_EQ(error_of(*image, change(1)), ErrorKind::corrupt);
  EXPECT_EQ(error_of(*image, change(-1)), ErrorKind::corrupt);
  EXPECT_EQ(error_of(*image, partition(id(9), 0)), ErrorKind::corrupt);
  EXPECT_EQ(error_of(*image, remove), ErrorKind::corrupt);
  EXPECT_EQ(error_of(*image, topic("t", id(3))), ErrorKind::corrupt);
  EXPECT_EQ(error_of(*image, topic("u", id(1))), ErrorKind::corrupt);
}

TEST_F(Delta, names_that_differ_in_points_and_underscores_are_listed_together) {
  auto next = apply(MetadataImage{}, topic("a.b", id(1)), partition(id(1), 0), topic("ab", id(2)),
                    partition(id(2), 0));
  const auto* names = next.image->colliding_names.find(std::string("a_b"));
  ASSERT_NE(names, nullptr);
  EXPECT_EQ((*names)->names, std::vector<std::string>{"a.b"});
  EXPECT_EQ(next.image->colliding_names.size(), 1u);
}

TEST_F(Delta, a_null_value_deletes_a_config_and_the_last_one_the_resource) {
  auto next = apply(MetadataImage{}, config(ConfigResourceType::broker, "", "min.insync.replicas", "1"),
                    config(ConfigResourceType::broker, "", "other", "x"));
  EXPECT_EQ(next.image->config(ConfigResourceType::broker, "")->values.size(), 2u);
  next = apply(*next.image, config(ConfigResourceType::broker, "", "other", std::nullopt));
  EXPECT_EQ(next.image->config_value(ConfigResourceType::broker, "", "min.insync.replicas"), "1");
  next = apply(*next.image, config(ConfigResourceType::broker, "", "min.insync.replicas", std::nullopt));
  EXPECT_EQ(next.image->config(ConfigResourceType::broker, ""), nullptr);
  EXPECT_EQ(next.changes.changed_configs.size(), 1u);
}

TEST_F(Delta, a_registration_replaces_the_broker_and_changes_count_only_for_its_epoch) {
  auto next = apply(MetadataImage{}, broker(1, 5));
  EXPECT_TRUE(next.image->broker(NodeId{1})->fenced);
  protocol::BrokerRegistrationChangeRecord unfence;
  unfence.broker_id = 1;
  unfence.broker_epoch = 4;
  unfence.fenced = -1;
  next = apply(*next.image, unfence);
  EXPECT_TRUE(next.image->broker(NodeId{1})->fenced);
  unfence.broker_epoch = 5;
  unfence.cordoned_log_dirs = std::vector<Uuid>{};
  next = apply(*next.image, unfence);
  EXPECT_FALSE(next.image->broker(NodeId{1})->fenced);
  EXPECT_TRUE(next.image->broker(NodeId{1})->cordoned_log_dirs.has_value());
  EXPECT_EQ(next.changes.changed_brokers, std::vector{NodeId{1}});

  protocol::FenceBrokerRecord fence;
  fence.id = 1;
  fence.epoch = 5;
  next = apply(*next.image, fence);
  EXPECT_TRUE(next.image->broker(NodeId{1})->fenced);

  protocol::UnregisterBrokerRecord gone;
  gone.broker_id = 1;
  gone.broker_epoch = 5;
  next = apply(*next.image, gone);
  EXPECT_EQ(next.image->broker(NodeId{1}), nullptr);
}

TEST_F(Delta, feature_level_zero_deletes_and_a_newer_metadata_version_is_refused) {
  protocol::FeatureLevelRecord level;
  level.name = "group.version";
  level.feature_level = 1;
  auto next = apply(MetadataImage{}, level);
  EXPECT_EQ(next.image->features.at("group.version"), 1);
  level.feature_level = 0;
  next = apply(*next.image, level);
  EXPECT_TRUE(next.image->features.empty());
  level.name = "metadata.version";
  level.feature_level = 34;
  MetadataDelta delta(MetadataImage{});
  const auto done = delta.replay(protocol::MetadataRecord(level), {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(done.error().message, "metadata.version 34: this version reads 7 to 33");
}

TEST_F(Delta, clear_elr_touches_only_partitions_that_have_one) {
  auto elr = change();
  elr.eligible_leader_replicas = std::vector<int32_t>{1};
  auto next = apply(*with_topic(2), elr);
  protocol::ClearElrRecord clear;
  for (const char* name : {"t", ""}) {
    clear.topic_name = name;
    const auto cleared = apply(*next.image, clear);
    const auto* changed = cleared.image->partition("t", PartitionIndex{0});
    EXPECT_TRUE(changed->eligible_leader_replicas.empty());
    EXPECT_EQ(changed->partition_epoch, 2);
    EXPECT_EQ(cleared.image->partition("t", PartitionIndex{1})->partition_epoch, 0);
  }
}

}  // namespace
}  // namespace barnabas::metadata
