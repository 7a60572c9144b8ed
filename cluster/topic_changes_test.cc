#include <gtest/gtest.h>

#include <map>

#include "cluster/controller_test_support.h"

namespace barnabas::cluster {
namespace {

using protocol::ErrorCode;
using protocol::to_wire;

Uuid number_id(uint8_t number) {
  return metadata::testing::id(number);
}

class DeleteTopics : public testing::ControllerTest {};
class CreatePartitions : public testing::ControllerTest {};

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
    const std::string key = (item.name ? item.name->str() : "-") + "/" +
                            item.topic_id.to_string().substr(0, 4) +
                            std::to_string(std::to_integer<int>(item.topic_id.bytes[15]));
    answers[key] =
        std::to_string(item.error_code) + " " + (item.error_message ? item.error_message->str() : "");
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

TEST_F(CreatePartitions, a_topic_named_twice_says_nothing_by_what_becomes_of_others) {
  create({topic("hidden", 2), topic("mine", 1)});
  for (const char* name : {"hidden", "missing"}) {
    protocol::CreatePartitionsRequest request;
    for (const auto& [other, count] :
         {std::pair("mine", 2), std::pair(name, 1'000'000), std::pair(name, 1)}) {
      auto& item = request.topics.emplace_back();
      item.name = other;
      item.count = count;
      item.assignments.reset();
    }
    request.validate_only = true;
    const auto response = controller_.create_partitions(request, state()).response;
    ASSERT_EQ(response.results.size(), 2U) << name;
    EXPECT_EQ(response.results[0].error_code, 0) << name;
    EXPECT_EQ(response.results[1].error_code, to_wire(ErrorCode::invalid_request)) << name;
  }
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
      {"t", 1, ErrorCode::invalid_partitions,
       "The topic t currently has 2 partition(s); 1 would not be an increase."},
      {"t", 0, ErrorCode::invalid_partitions,
       "The topic t currently has 2 partition(s); 0 would not be an increase."},
      {"t", -5, ErrorCode::invalid_partitions,
       "The topic t currently has 2 partition(s); -5 would not be an increase."},
      {"t", 20'000, ErrorCode::policy_violation,
       "Excessively large number of additional partitions per request."},
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

}  // namespace
}  // namespace barnabas::cluster
