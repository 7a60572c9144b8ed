#include "cluster/local_controller.h"

#include <gtest/gtest.h>

#include <variant>

#include "metadata/metadata_test_support.h"

namespace barnabas::cluster {
namespace {

using protocol::ErrorCode;
using protocol::to_wire;

Uuid number_id(uint8_t number) { return metadata::testing::id(number); }

/// One broker (id 1, unfenced), Kafka's features, and what the test makes.
class Controller : public ::testing::Test {
 protected:
  Controller() : controller_({.node_id = NodeId{1}, .static_config = &config, .new_id = [this] { return next_id(); }}) {
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
      record_types.push_back(static_cast<int>(std::visit([](const auto& r) { return r.record_type; }, *record)));
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
  static Topic assigned(std::string_view name, std::vector<std::pair<int32_t, std::vector<int32_t>>> assignments) {
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
  Uuid next_id() { return number_id(++last_id_); }

  metadata::StaticConfig config;
  metadata::MetadataImagePtr image;
  std::vector<int> record_types;
  LocalController controller_;

 private:
  uint8_t last_id_ = 0;
};

using CreateTopics = Controller;
using DeleteTopics = Controller;
using CreatePartitions = Controller;
using BrokerControl = Controller;

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
  image = metadata::testing::apply(
              *image, metadata::testing::config(metadata::ConfigResourceType::broker, "", "min.insync.replicas", "1"))
              .image;
  auto wanted = topic("t");
  with(wanted, "retention.ms", "100");
  const auto response = create({wanted});
  const auto& configs = *response.topics.front().configs;
  EXPECT_EQ(configs.size(), 37u);
  EXPECT_TRUE(std::ranges::is_sorted(configs, {}, [](const auto& each) { return each.name.view(); }));
  const auto source = [&](std::string_view name) {
    const auto found = std::ranges::find(configs, name, [](const auto& each) { return each.name.view(); });
    return found == configs.end() ? std::string() : std::to_string(found->config_source) + "=" + found->value->str();
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
  expect_refused(topic("a b"), invalid,
                 "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', "
                 "'_' and '-'");
  const std::string longest(250, 'x');
  expect_refused(topic(longest), invalid,
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
  expect_refused(topic("t", 1, 3), ErrorCode::invalid_replication_factor,
                 "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached "
                 "because only 1 broker(s) are registered or some brokers have all their log directories cordoned.");
}

TEST_F(CreateTopics, too_many_partitions_are_one_error_at_every_size) {
  const std::string message = "Excessively large number of partitions per request.";
  for (const int32_t count : {10'001, 100'000, 2'147'483'647})
    expect_refused(topic("t", count), ErrorCode::policy_violation, message);
  const auto response = create({topic("a", 6'000), topic("b", 6'000)});
  for (const auto& answer : response.topics) EXPECT_EQ(answer.error_code, to_wire(ErrorCode::policy_violation));
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
  expect_refused(assigned("u", {{0, {1}}, {2, {1}}}), bad, "partitions should be a consecutive 0-based integer sequence");
  expect_refused(assigned("u", {{0, {1}}, {0, {1}}}), bad, "Found multiple manual partition assignments for partition 0");
  expect_refused(assigned("u", {{0, {}}}), bad, "The manual partition assignment includes an empty replica list.");
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
  const auto refused = [&](std::vector<std::pair<std::string, std::optional<std::string>>> configs, std::string message) {
    auto wanted = topic("t");
    for (const auto& [name, value] : configs) with(wanted, name, value);
    expect_refused(wanted, ErrorCode::invalid_config, message);
  };
  refused({{"retention.ms", "abc"}}, "Invalid value abc for configuration retention.ms: Not a number of type LONG");
  refused({{"retention.ms", std::nullopt}, {"segment.ms", std::nullopt}},
          "Null value not supported for topic configs: retention.ms,segment.ms");
  refused({{"retention.ms", "abc"}, {"nope", "1"}}, "Unknown topic config name: nope");
  refused({{"segment.bytes", "1"}}, "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576");
  refused({{"min.compaction.lag.ms", "10"}, {"max.compaction.lag.ms", "5"}},
          "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)");
  refused({{"remote.storage.enable", "true"}},
          "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.");
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
  EXPECT_EQ(image->partition("t", PartitionIndex{0})->directories, std::vector{metadata::directory_unassigned});

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
  EXPECT_EQ(response.directories[0].topics[0].partitions[1].error_code, to_wire(ErrorCode::unknown_topic_or_partition));
  EXPECT_EQ(image->partition("t", PartitionIndex{0})->directory_of(NodeId{1}), number_id(201));
}

TEST_F(DeleteTopics, by_name_and_by_id_each_item_gets_its_answer) {
  create({topic("a"), topic("b"), topic("c")});
  protocol::DeleteTopicsRequest request;
  const auto add = [&](std::optional<std::string_view> name, Uuid id) {
    auto& item = request.topics.emplace_back();
    item.name.reset();
    if (name) item.name = protocol::String(*name);
    item.topic_id = id;
  };
  add("a", {});
  add(std::nullopt, image->topic("b")->id);
  add("nope", {});
  add(std::nullopt, number_id(99));
  add("c", number_id(3));
  add(std::nullopt, {});
  std::map<std::string, std::string> answers;
  for (const auto& item : done(controller_.delete_topics(request, state())).responses) {
    const std::string key = (item.name ? item.name->str() : "-") + "/" + item.topic_id.to_string().substr(0, 4) +
                            std::to_string(std::to_integer<int>(item.topic_id.bytes[15]));
    answers[key] = std::to_string(item.error_code) + " " + (item.error_message ? item.error_message->str() : "");
  }
  const auto key = [](std::string name, uint8_t id) {
    return name + "/" + (id ? number_id(id) : Uuid{}).to_string().substr(0, 4) + std::to_string(id);
  };
  EXPECT_EQ(answers[key("a", 1)], "0 ");
  EXPECT_EQ(answers[key("b", 2)], "0 ");
  EXPECT_EQ(answers[key("nope", 0)].substr(0, 2), "3 ");
  EXPECT_EQ(answers[key("-", 99)].substr(0, 4), "100 ");
  EXPECT_EQ(answers[key("c", 3)], "42 You may not specify both topic name and topic id.");
  EXPECT_EQ(answers[key("-", 0)], "42 Neither topic name nor id were specified.");
  EXPECT_EQ(image->topics_by_name.size(), 1u);
}

TEST_F(DeleteTopics, what_is_named_twice_stays) {
  create({topic("a"), topic("b")});
  protocol::DeleteTopicsRequest request;
  request.topic_names = {"a", "a"};
  auto response = done(controller_.delete_topics(request, state()));
  ASSERT_EQ(response.responses.size(), 1u);
  EXPECT_EQ(response.responses[0].error_code, to_wire(ErrorCode::invalid_request));
  EXPECT_EQ(response.responses[0].error_message->view(), "Duplicate topic name.");

  protocol::DeleteTopicsRequest both;
  auto& by_name = both.topics.emplace_back();
  by_name.name = protocol::String("b");
  auto& by_id = both.topics.emplace_back();
  by_id.name.reset();
  by_id.topic_id = image->topic("b")->id;
  response = done(controller_.delete_topics(both, state()));
  ASSERT_EQ(response.responses.size(), 1u);
  EXPECT_EQ(response.responses[0].error_message->view(),
            "The provided topic name maps to an ID that was already supplied.");
  EXPECT_EQ(image->topics_by_name.size(), 2u);
}

TEST_F(DeleteTopics, can_be_switched_off) {
  create({topic("a")});
  ASSERT_TRUE(config.set("delete.topic.enable", "false", "test"));
  protocol::DeleteTopicsRequest request;
  request.topic_names = {"a"};
  const auto response = done(controller_.delete_topics(request, state()));
  EXPECT_EQ(response.responses[0].error_code, to_wire(ErrorCode::topic_deletion_disabled));
  EXPECT_NE(image->topic("a"), nullptr);
}

TEST_F(CreatePartitions, counts_follow_kafkas_rules) {
  create({topic("t", 2)});
  struct Case {
    std::string topic;
    int32_t count;
    ErrorCode code;
    std::optional<std::string> message;
  };
  const std::vector<Case> cases{
      {"t", 2, ErrorCode::invalid_partitions, "Topic already has 2 partition(s)."},
      {"t", 1, ErrorCode::invalid_partitions, "The topic t currently has 2 partition(s); 1 would not be an increase."},
      {"t", 0, ErrorCode::invalid_partitions, "The topic t currently has 2 partition(s); 0 would not be an increase."},
      {"t", -5, ErrorCode::invalid_partitions, "The topic t currently has 2 partition(s); -5 would not be an increase."},
      {"t", 20'000, ErrorCode::policy_violation, "Excessively large number of additional partitions per request."},
      {"t", 2'147'483'647, ErrorCode::policy_violation,
       "Excessively large number of additional partitions per request."},
      {"nope", 3, ErrorCode::unknown_topic_or_partition, std::nullopt},
      {"t", 3, ErrorCode::none, std::nullopt},
  };
  for (const auto& each : cases) {
    protocol::CreatePartitionsRequest request;
    auto& item = request.topics.emplace_back();
    item.name = each.topic;
    item.count = each.count;
    item.assignments.reset();
    const auto response = done(controller_.create_partitions(request, state()));
    ASSERT_EQ(response.results.size(), 1u);
    EXPECT_EQ(response.results[0].error_code, to_wire(each.code)) << each.count;
    EXPECT_EQ(response.results[0].error_message.has_value(), each.message.has_value()) << each.count;
    if (each.message) {
      EXPECT_EQ(response.results[0].error_message->view(), *each.message);
    }
  }
  EXPECT_EQ(image->topic("t")->partition_count(), 3);
  EXPECT_EQ(image->partition("t", PartitionIndex{2})->leader, NodeId{1});
}

TEST_F(CreatePartitions, assignments_doubles_and_validate_only) {
  create({topic("t", 1)});
  protocol::CreatePartitionsRequest request;
  auto& item = request.topics.emplace_back();
  item.name = "t";
  item.count = 2;
  item.assignments.emplace();
  auto response = done(controller_.create_partitions(request, state()));
  EXPECT_EQ(response.results[0].error_code, to_wire(ErrorCode::invalid_replica_assignment));
  EXPECT_EQ(response.results[0].error_message->view(),
            "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.");
  item.assignments->emplace_back().broker_ids = {1};
  request.validate_only = true;
  EXPECT_EQ(done(controller_.create_partitions(request, state())).results[0].error_code, 0);
  EXPECT_EQ(image->topic("t")->partition_count(), 1);
  request.validate_only = false;
  request.topics.push_back(request.topics.front());
  response = done(controller_.create_partitions(request, state()));
  ASSERT_EQ(response.results.size(), 1u);
  EXPECT_EQ(response.results[0].error_message->view(), "Duplicate topic name.");
  request.topics.pop_back();
  EXPECT_EQ(done(controller_.create_partitions(request, state())).results[0].error_code, 0);
  EXPECT_EQ(image->topic("t")->partition_count(), 2);
}

TEST_F(BrokerControl, registration_checks_cluster_features_and_directories) {
  protocol::BrokerRegistrationRequest request;
  request.broker_id = 1;
  request.cluster_id = "cluster";
  request.incarnation_id = number_id(50);
  request.log_dirs = {number_id(200)};
  const auto add_feature = [&](std::string_view name, int16_t min, int16_t max) {
    auto& feature = request.features.emplace_back();
    feature.name = name;
    feature.min_supported_version = min;
    feature.max_supported_version = max;
  };
  const auto code = [&] { return controller_.register_broker(request, state()).response.error_code; };
  EXPECT_EQ(code(), to_wire(ErrorCode::unsupported_version));
  add_feature("metadata.version", 7, 33);
  add_feature("eligible.leader.replicas.version", 0, 1);
  EXPECT_EQ(code(), 0);
  request.log_dirs.push_back(number_id(200));
  EXPECT_EQ(code(), to_wire(ErrorCode::invalid_registration));
  request.log_dirs.clear();
  EXPECT_EQ(code(), to_wire(ErrorCode::invalid_registration));
  request.log_dirs = {number_id(200)};
  request.cluster_id = "other";
  EXPECT_EQ(code(), to_wire(ErrorCode::inconsistent_cluster_id));
  request.cluster_id = "cluster";
  const Offset first = state().next_offset;
  const auto response = done(controller_.register_broker(request, state()));
  EXPECT_EQ(response.broker_epoch, first.value());
  EXPECT_TRUE(image->broker(NodeId{1})->fenced);
  EXPECT_EQ(image->broker(NodeId{1})->epoch, BrokerEpoch(first.value()));
}

TEST_F(BrokerControl, an_unclean_broker_leads_in_new_epochs_and_a_clean_one_in_the_old) {
  create({topic("t", 2)});
  protocol::BrokerRegistrationRequest request;
  request.broker_id = 1;
  request.cluster_id = "cluster";
  request.incarnation_id = number_id(50);
  request.log_dirs = {number_id(200)};
  for (const auto& [name, level] : image->features) {
    auto& feature = request.features.emplace_back();
    feature.name = name;
    feature.max_supported_version = level;
  }
  request.previous_broker_epoch = 5;
  const auto registered = done(controller_.register_broker(request, state()));
  EXPECT_EQ(image->partition("t", PartitionIndex{1})->leader_epoch, LeaderEpoch{0});
  request.previous_broker_epoch = -1;
  request.incarnation_id = number_id(51);
  done(controller_.register_broker(request, state()));
  EXPECT_EQ(image->partition("t", PartitionIndex{1})->leader_epoch, LeaderEpoch{1});
  EXPECT_EQ(image->partition("t", PartitionIndex{1})->leader, NodeId{1});
}

TEST_F(BrokerControl, heartbeats_unfence_elect_and_fence) {
  create({topic("t")});
  // As Kafka leaves a partition behind after a clean stop.
  protocol::PartitionChangeRecord offline;
  offline.topic_id = image->topic("t")->id;
  offline.partition_id = 0;
  offline.leader = -1;
  offline.isr.emplace();
  offline.eligible_leader_replicas = std::vector<int32_t>{1};
  offline.last_known_elr = std::vector<int32_t>{1};
  image = metadata::testing::apply(*image, offline, metadata::testing::broker(1, 40)).image;

  protocol::BrokerHeartbeatRequest beat;
  beat.broker_id = 1;
  beat.broker_epoch = 39;
  EXPECT_EQ(done(controller_.heartbeat(beat, state())).error_code, to_wire(ErrorCode::stale_broker_epoch));
  beat.broker_epoch = 40;
  beat.current_metadata_offset = 39;
  auto response = done(controller_.heartbeat(beat, state()));
  EXPECT_FALSE(response.is_caught_up);
  EXPECT_TRUE(response.is_fenced);
  beat.current_metadata_offset = 40;
  beat.want_fence = true;
  EXPECT_TRUE(done(controller_.heartbeat(beat, state())).is_fenced);
  beat.want_fence = false;
  response = done(controller_.heartbeat(beat, state()));
  EXPECT_TRUE(response.is_caught_up);
  EXPECT_FALSE(response.is_fenced);
  const auto* partition = image->partition("t", PartitionIndex{0});
  EXPECT_EQ(partition->leader, NodeId{1});
  EXPECT_EQ(partition->isr, std::vector{NodeId{1}});
  EXPECT_TRUE(partition->eligible_leader_replicas.empty());
  EXPECT_TRUE(partition->last_known_elr.empty());
  EXPECT_EQ(partition->leader_epoch, LeaderEpoch{2});
  done(controller_.heartbeat(beat, state()));
  EXPECT_TRUE(record_types.empty()) << "a heartbeat that changes nothing writes nothing";
  beat.want_shut_down = true;
  response = done(controller_.heartbeat(beat, state()));
  EXPECT_TRUE(response.should_shut_down);
  EXPECT_TRUE(image->broker(NodeId{1})->fenced);
  EXPECT_EQ(image->partition("t", PartitionIndex{0})->leader, NodeId{1});
}

TEST_F(BrokerControl, producer_ids_need_the_present_broker_epoch) {
  protocol::AllocateProducerIdsRequest request;
  request.broker_id = 1;
  request.broker_epoch = 4;
  EXPECT_EQ(done(controller_.allocate_producer_ids(request, state())).error_code, to_wire(ErrorCode::stale_broker_epoch));
  request.broker_epoch = 5;
  for (const int64_t start : {0, 1000, 2000}) {
    const auto response = done(controller_.allocate_producer_ids(request, state()));
    EXPECT_EQ(response.producer_id_start, start);
    EXPECT_EQ(response.producer_id_len, 1000);
  }
}

}  // namespace
}  // namespace barnabas::cluster
