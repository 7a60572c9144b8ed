#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/controller_test_support.h"

namespace barnabas::cluster {
namespace {

using protocol::ErrorCode;
using protocol::to_wire;

Uuid number_id(uint8_t number) {
  return metadata::testing::id(number);
}

class CreateTopics : public testing::ControllerTest {};

TEST_F(CreateTopics, makes_topic_configs_and_partitions_in_kafkas_order) {
  auto wanted = topic("t", 2);
  with(wanted, "min.insync.replicas", "1");
  with(wanted, "retention.ms", " 100 ");
  const auto response = create({wanted});
  const auto& answer = response.topics.front();
  EXPECT_EQ(answer.error_code, 0);
  EXPECT_FALSE(answer.error_message.has_value());
  EXPECT_EQ(answer.topic_id, number_id(1));
  EXPECT_EQ(answer.num_partitions, 2);
  EXPECT_EQ(answer.replication_factor, 1);
  EXPECT_EQ(record_types, (std::vector{2, 4, 4, 28, 3, 3}));
  const auto* partition = image->partition("t", PartitionIndex{1});
  ASSERT_NE(partition, nullptr);
  EXPECT_EQ(partition->leader, NodeId{1});
  EXPECT_EQ(partition->isr, std::vector{NodeId{1}});
  EXPECT_EQ(partition->directories, std::vector{number_id(200)});
  EXPECT_EQ(image->config_value(metadata::ConfigResourceType::topic, "t", "retention.ms"), " 100 ");
}

TEST_F(CreateTopics, the_answer_lists_every_topic_setting_by_name_with_its_source) {
  ASSERT_TRUE(config.set("log.segment.bytes", "5000000", "test"));
  image = metadata::testing::apply(*image, metadata::testing::config(metadata::ConfigResourceType::broker, "",
                                                                     "min.insync.replicas", "1"))
              .image;
  auto wanted = topic("t");
  with(wanted, "retention.ms", "100");
  const auto response = create({wanted});
  const auto& configs = *response.topics.front().configs;
  EXPECT_EQ(configs.size(), 37u);
  EXPECT_TRUE(std::ranges::is_sorted(configs, {}, [](const auto& each) { return each.name.view(); }));
  const auto source = [&](std::string_view name) {
    const auto found = std::ranges::find(configs, name, [](const auto& each) { return each.name.view(); });
    return found == configs.end() ? std::string()
                                  : std::to_string(found->config_source) + "=" + found->value->str();
  };
  EXPECT_EQ(source("retention.ms"), "1=100");
  EXPECT_EQ(source("min.insync.replicas"), "3=1");
  EXPECT_EQ(source("segment.bytes"), "4=5000000");
  EXPECT_EQ(source("cleanup.policy"), "5=delete");
  EXPECT_EQ(source("segment.ms"), "5=604800000");
}

TEST_F(CreateTopics, minus_one_takes_the_brokers_defaults) {
  ASSERT_TRUE(config.set("num.partitions", "7", "test"));
  const auto response = create({topic("t", -1, -1)});
  EXPECT_EQ(response.topics.front().num_partitions, 7);
  EXPECT_EQ(image->topic("t")->partition_count(), 7);
}

TEST_F(CreateTopics, names_are_refused_in_kafkas_words) {
  const auto invalid = ErrorCode::invalid_topic_exception;
  expect_refused(topic(""), invalid, "Topic name is invalid: the empty string is not allowed");
  expect_refused(topic("."), invalid, "Topic name is invalid: '.' is not allowed");
  expect_refused(topic(".."), invalid, "Topic name is invalid: '..' is not allowed");
  expect_refused(
      topic("a b"), invalid,
      "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', "
      "'_' and '-'");
  const std::string longest(250, 'x');
  expect_refused(
      topic(longest), invalid,
      "Topic name is invalid: the length of '" + longest + "' is longer than the max allowed length 249");
  EXPECT_EQ(create({topic(std::string(249, 'x'))}).topics.front().error_code, 0);
  create({topic("a.b")});
  expect_refused(topic("a_b"), invalid, "Topic 'a_b' collides with existing topic: a.b");
  expect_refused(topic("__cluster_metadata"), ErrorCode::invalid_request,
                 "Creation of internal topic __cluster_metadata is prohibited.");
  EXPECT_EQ(create({topic("__consumer_offsets")}).topics.front().error_code, 0);
}

TEST_F(CreateTopics, names_that_collide_within_one_request_do_not_both_come_to_be) {
  const auto response = create({topic("x.y"), topic("x_y")});
  EXPECT_EQ(response.topics[0].error_code, 0);
  EXPECT_EQ(response.topics[1].error_code, to_wire(ErrorCode::invalid_topic_exception));
}

TEST_F(CreateTopics, an_existing_topic_is_told_before_anything_else) {
  create({topic("t")});
  expect_refused(topic("t", 1, 3), ErrorCode::topic_already_exists, "Topic 't' already exists.");
  auto bad = topic("t");
  expect_refused(with(bad, "nope", "1"), ErrorCode::topic_already_exists, "Topic 't' already exists.");
}

TEST_F(CreateTopics, counts_are_refused_in_kafkas_words) {
  const std::string factor = "Replication factor must be larger than 0, or -1 to use the default value.";
  expect_refused(topic("t", 1, 0), ErrorCode::invalid_replication_factor, factor);
  expect_refused(topic("t", 1, -2), ErrorCode::invalid_replication_factor, factor);
  expect_refused(topic("t", 0, 0), ErrorCode::invalid_replication_factor, factor);
  const std::string partitions = "Number of partitions was set to an invalid non-positive value.";
  expect_refused(topic("t", 0), ErrorCode::invalid_partitions, partitions);
  expect_refused(topic("t", -2), ErrorCode::invalid_partitions, partitions);
  expect_refused(
      topic("t", 1, 3), ErrorCode::invalid_replication_factor,
      "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached "
      "because only 1 broker(s) are registered or some brokers have all their log directories cordoned.");
}

TEST_F(CreateTopics, too_many_partitions_are_one_error_at_every_size) {
  const std::string message = "Excessively large number of partitions per request.";
  for (const int32_t count : {10'001, 100'000, 2'147'483'647})
    expect_refused(topic("t", count), ErrorCode::policy_violation, message);
  const auto response = create({topic("a", 6'000), topic("b", 6'000)});
  for (const auto& answer : response.topics)
    EXPECT_EQ(answer.error_code, to_wire(ErrorCode::policy_violation));
  EXPECT_EQ(create({topic("t", 10'000)}).topics.front().error_code, 0);
}

TEST_F(CreateTopics, doubles_in_a_request_get_one_answer_and_the_others_go_on) {
  const auto response = create({topic("d"), topic("t"), topic("d"), topic("d")});
  ASSERT_EQ(response.topics.size(), 2u);
  EXPECT_EQ(response.topics[0].name.view(), "t");
  EXPECT_EQ(response.topics[0].error_code, 0);
  EXPECT_EQ(response.topics[1].name.view(), "d");
  EXPECT_EQ(response.topics[1].error_code, to_wire(ErrorCode::invalid_request));
  EXPECT_EQ(response.topics[1].error_message->view(), "Duplicate topic name.");
  EXPECT_EQ(image->topic("d"), nullptr);
}

TEST_F(CreateTopics, validate_only_answers_as_if_and_changes_nothing) {
  const auto response = create({topic("t", 3)}, true);
  EXPECT_EQ(response.topics.front().error_code, 0);
  EXPECT_EQ(response.topics.front().num_partitions, 3);
  EXPECT_FALSE(response.topics.front().configs->empty());
  EXPECT_EQ(image->topic("t"), nullptr);
}

TEST_F(CreateTopics, manual_assignments_are_taken_or_refused_in_kafkas_words) {
  EXPECT_EQ(create({assigned("t", {{1, {1}}, {0, {1}}})}).topics.front().num_partitions, 2);
  const auto bad = ErrorCode::invalid_replica_assignment;
  expect_refused(assigned("u", {{0, {1}}, {2, {1}}}), bad,
                 "partitions should be a consecutive 0-based integer sequence");
  expect_refused(assigned("u", {{0, {1}}, {0, {1}}}), bad,
                 "Found multiple manual partition assignments for partition 0");
  expect_refused(assigned("u", {{0, {}}}), bad,
                 "The manual partition assignment includes an empty replica list.");
  expect_refused(assigned("u", {{0, {1, 1}}}), bad,
                 "The manual partition assignment includes the broker 1 more than once.");
  expect_refused(assigned("u", {{0, {7}}}), bad,
                 "The manual partition assignment includes broker 7, but no such broker is registered.");
  auto counted = assigned("u", {{0, {1}}});
  counted.num_partitions = 1;
  expect_refused(counted, ErrorCode::invalid_request,
                 "A manual partition assignment was specified, but numPartitions was not set to -1.");
  auto replicated = assigned("u", {{0, {1}}});
  replicated.replication_factor = 1;
  expect_refused(replicated, ErrorCode::invalid_request,
                 "A manual partition assignment was specified, but replication factor was not set to -1.");
}

TEST_F(CreateTopics, configs_are_refused_in_kafkas_words) {
  const auto refused = [&](std::vector<std::pair<std::string, std::optional<std::string>>> configs,
                           std::string message) {
    auto wanted = topic("t");
    for (const auto& [name, value] : configs) with(wanted, name, value);
    expect_refused(wanted, ErrorCode::invalid_config, message);
  };
  refused({{"retention.ms", "abc"}},
          "Invalid value abc for configuration retention.ms: Not a number of type LONG");
  refused({{"retention.ms", std::nullopt}, {"segment.ms", std::nullopt}},
          "Null value not supported for topic configs: retention.ms,segment.ms");
  refused({{"retention.ms", "abc"}, {"nope", "1"}}, "Unknown topic config name: nope");
  refused({{"segment.bytes", "1"}},
          "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576");
  refused({{"min.compaction.lag.ms", "10"}, {"max.compaction.lag.ms", "5"}},
          "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)");
  refused({{"remote.storage.enable", "true"}},
          "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote "
          "log storage.");
  auto last_wins = topic("t");
  with(last_wins, "retention.ms", "abc");
  with(last_wins, "retention.ms", "5");
  EXPECT_EQ(create({last_wins}).topics.front().error_code, 0);
  EXPECT_EQ(image->config_value(metadata::ConfigResourceType::topic, "t", "retention.ms"), "5");
}

TEST_F(CreateTopics, without_a_live_broker_there_are_no_topics) {
  protocol::FenceBrokerRecord fence;
  fence.id = 1;
  fence.epoch = 5;
  image = metadata::testing::apply(*image, fence).image;
  const auto response = create({topic("t"), assigned("u", {{0, {1}}})});
  EXPECT_EQ(response.topics[0].error_code, to_wire(ErrorCode::invalid_replication_factor));
  EXPECT_EQ(response.topics[1].error_code, to_wire(ErrorCode::invalid_replica_assignment));
}

TEST_F(CreateTopics, with_several_directories_the_replica_has_none_yet) {
  auto broker = metadata::testing::broker(1, 6);
  broker.fenced = false;
  broker.log_dirs = {number_id(200), number_id(201)};
  image = metadata::testing::apply(*image, broker).image;
  create({topic("t")});
  EXPECT_EQ(image->partition("t", PartitionIndex{0})->directories,
            std::vector{metadata::directory_unassigned});

  protocol::AssignReplicasToDirsRequest request;
  request.broker_id = 1;
  request.broker_epoch = 6;
  auto& directory = request.directories.emplace_back();
  directory.id = number_id(201);
  auto& assigned_topic = directory.topics.emplace_back();
  assigned_topic.topic_id = image->topic("t")->id;
  assigned_topic.partitions.emplace_back().partition_index = 0;
  assigned_topic.partitions.emplace_back().partition_index = 9;
  const auto response = done(controller_.assign_replicas_to_dirs(request, state()));
  EXPECT_EQ(response.error_code, 0);
  EXPECT_EQ(response.directories[0].topics[0].partitions[0].error_code, 0);
  EXPECT_EQ(response.directories[0].topics[0].partitions[1].error_code,
            to_wire(ErrorCode::unknown_topic_or_partition));
  EXPECT_EQ(image->partition("t", PartitionIndex{0})->directory_of(NodeId{1}), number_id(201));
}

}  // namespace
}  // namespace barnabas::cluster
