#include <gtest/gtest.h>

#include "coordinator/consumer_test_support.h"

/// Members ask for assignors by name. A log may name some that the broker does not have.
namespace barnabas::coordinator::testing {
namespace {

class NamedAssignor : public ::testing::Test {
 protected:
  NamedAssignor()
      : shard([this](ShardEnvironment& environment) { environment.settings.consumer_assignors = known; }) {
    shard.set_topic("t", 4);
  }

  /// How many partitions it is given at once; nothing: it is refused.
  std::optional<std::size_t> join(std::string_view member, std::string_view assignor = {}) {
    auto request = join_request("g", member, {"t"});
    if (!assignor.empty()) request.server_assignor = protocol::String(assignor);
    const auto response = shard.heartbeat(request);
    if (!response || response->error_code != 0) return std::nullopt;
    std::size_t count = 0;
    for (const auto& topic : response->assignment->topic_partitions) count += topic.partitions.size();
    return count;
  }

  std::string described() {
    auto [reply, answer] = reply_and_answer<ConsumerProtocol::DescribedGroup>();
    shard.runner.carry_out(shard.runner.shard().describe_consumer_group("g", std::move(reply)));
    return answer->response().assignor_name.str();
  }

  std::vector<std::string> known{"uniform", "range"};
  ConsumerShard shard;
};

TEST_F(NamedAssignor, the_first_one_known_is_used_where_nobody_asks) {
  EXPECT_EQ(join("a"), 4);
  EXPECT_EQ(described(), "uniform");
}

TEST_F(NamedAssignor, what_a_member_asked_for_is_used_as_long_as_the_broker_has_it) {
  EXPECT_EQ(join("a", "range"), 4);
  EXPECT_EQ(described(), "range");
  known = {"uniform"};
  shard.runner.crash();
  EXPECT_EQ(described(), "uniform");
  EXPECT_EQ(join("b"), 0);
  EXPECT_EQ(join("c", "range"), std::nullopt);
}

TEST_F(NamedAssignor, a_name_that_only_another_broker_knows_is_not_used) {
  EXPECT_EQ(join("a"), 4);
  ConsumerMember member = *shard.group("g")->member("a");
  member.assignor = "own";
  Decision written_by_another;
  written_by_another.records.push_back(consumer_records::member_metadata("g", member));
  shard.runner.carry_out(std::move(written_by_another));
  EXPECT_EQ(described(), "uniform");
  EXPECT_EQ(join("b"), 0);
}

}  // namespace
}  // namespace barnabas::coordinator::testing
