// ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, DescribeQuorum and UnregisterBroker,
// with brokers in the image that are not this process: a directory may have been part of something larger.

#include <gtest/gtest.h>

#include "cluster/controller_test_support.h"

namespace barnabas::cluster {
namespace {

using protocol::ErrorCode;
using protocol::to_wire;

using Nodes = std::vector<NodeId>;

Nodes nodes(std::initializer_list<int32_t> ids) {
  Nodes result;
  for (const int32_t id : ids) result.emplace_back(id);
  return result;
}

class PartitionControl : public testing::ControllerTest {
 protected:
  PartitionControl() { add_broker(2, false); }

  void add_broker(int32_t id, bool fenced) {
    auto record = metadata::testing::broker(id, id + 10);
    record.fenced = fenced;
    image = metadata::testing::apply(*image, record).image;
  }
  void fence(int32_t id, bool fenced) {
    protocol::BrokerRegistrationChangeRecord record;
    record.broker_id = id;
    record.broker_epoch = image->broker(NodeId(id))->epoch.value();
    record.fenced = static_cast<int8_t>(fenced ? 1 : -1);
    image = metadata::testing::apply(*image, record).image;
  }
  /// Topic "t" with one partition.
  void add_partition(std::vector<int32_t> replicas, std::vector<int32_t> isr, int32_t leader,
                     std::vector<int32_t> elr = {}, std::vector<int32_t> adding = {},
                     std::vector<int32_t> removing = {}) {
    const Uuid topic_id = next_id();
    auto record = metadata::testing::partition(topic_id, 0);
    record.directories.assign(replicas.size(), metadata::testing::id(200));
    record.replicas = std::move(replicas);
    record.isr = std::move(isr);
    record.leader = leader;
    record.adding_replicas = std::move(adding);
    record.removing_replicas = std::move(removing);
    if (!elr.empty()) record.eligible_leader_replicas = std::move(elr);
    image = metadata::testing::apply(*image, metadata::testing::topic("t", topic_id), record).image;
  }
  const metadata::PartitionImage& partition() const { return *image->partition("t", PartitionIndex{0}); }

  int16_t elect(bool unclean, bool all = false) {
    protocol::ElectLeadersRequest request;
    request.election_type = unclean ? 1 : 0;
    request.topic_partitions.reset();
    if (!all) {
      auto& topic = request.topic_partitions.emplace().emplace_back();
      topic.topic = "t";
      topic.partitions = {0};
    }
    const auto response = done(controller_.elect_leaders(request, state()));
    const auto& results = response.replica_election_results.at(0).partition_result;
    return results.empty() ? to_wire(ErrorCode::election_not_needed) : results.at(0).error_code;
  }
  protocol::AlterPartitionReassignmentsResponse::ReassignablePartitionResponse alter(
      std::optional<std::vector<int32_t>> replicas, bool factor_may_change = true) {
    protocol::AlterPartitionReassignmentsRequest request;
    request.allow_replication_factor_change = factor_may_change;
    auto& topic = request.topics.emplace_back();
    topic.name = "t";
    auto& item = topic.partitions.emplace_back();
    item.partition_index = 0;
    item.replicas = std::move(replicas);
    return done(controller_.alter_partition_reassignments(request, state())).responses.at(0).partitions.at(0);
  }
  std::size_t ongoing(bool all) {
    protocol::ListPartitionReassignmentsRequest request;
    if (!all) {
      auto& topic = request.topics.emplace().emplace_back();
      topic.name = "t";
      topic.partition_indexes = {5, 0};
    }
    const auto response = done(controller_.list_partition_reassignments(request, state()));
    return response.topics.empty() ? 0 : response.topics.at(0).partitions.size();
  }
  int16_t unregister(int32_t id) {
    protocol::UnregisterBrokerRequest request;
    request.broker_id = id;
    return done(controller_.unregister_broker(request, state())).error_code;
  }
};

TEST_F(PartitionControl, the_preferred_replica_leads_after_its_election) {
  add_partition({1, 2}, {1, 2}, 2);
  EXPECT_EQ(elect(false, true), 0);
  EXPECT_EQ(partition().leader, NodeId{1});
  EXPECT_EQ(partition().leader_epoch, LeaderEpoch{1});
  EXPECT_EQ(partition().isr, nodes({1, 2}));
  EXPECT_EQ(elect(false), to_wire(ErrorCode::election_not_needed));
}

TEST_F(PartitionControl, a_preferred_replica_that_is_down_or_behind_is_not_available) {
  add_partition({2, 1}, {1}, 1);
  EXPECT_EQ(elect(false), to_wire(ErrorCode::preferred_leader_not_available));
  add_broker(2, true);
  EXPECT_EQ(elect(false), to_wire(ErrorCode::preferred_leader_not_available));
  EXPECT_TRUE(record_types.empty());
  EXPECT_EQ(elect(true), to_wire(ErrorCode::election_not_needed)) << "somebody leads";
}

TEST_F(PartitionControl, an_unclean_election_takes_who_is_alive_and_says_that_records_may_be_lost) {
  fence(2, true);
  add_partition({2, 1}, {2}, -1);
  EXPECT_EQ(elect(false), to_wire(ErrorCode::preferred_leader_not_available));
  EXPECT_EQ(elect(true), 0);
  EXPECT_EQ(partition().leader, NodeId{1});
  EXPECT_EQ(partition().isr, nodes({1}));
  EXPECT_EQ(partition().leader_recovery_state, 1);
}

TEST_F(PartitionControl, an_unclean_election_without_anybody_alive_is_refused) {
  fence(2, true);
  add_partition({2}, {2}, -1);
  EXPECT_EQ(elect(true), to_wire(ErrorCode::eligible_leaders_not_available));
}

TEST_F(PartitionControl, an_eligible_replica_leads_without_loss) {
  add_partition({2, 1}, {}, -1, {1});
  fence(2, true);
  EXPECT_EQ(elect(false), 0);
  EXPECT_EQ(partition().leader, NodeId{1});
  EXPECT_EQ(partition().isr, nodes({1}));
  EXPECT_TRUE(partition().eligible_leader_replicas.empty());
  EXPECT_EQ(partition().leader_recovery_state, 0);
}

TEST_F(PartitionControl, taking_away_a_replica_is_done_at_once) {
  add_partition({1, 2}, {1, 2}, 1);
  EXPECT_EQ(alter({{1}}).error_code, 0);
  EXPECT_EQ(partition().replicas, nodes({1}));
  EXPECT_EQ(partition().isr, nodes({1}));
  EXPECT_EQ(partition().directories.size(), 1u);
  EXPECT_EQ(partition().leader_epoch, LeaderEpoch{1}) << "the removed replica must notice";
  EXPECT_EQ(ongoing(true), 0u);
}

TEST_F(PartitionControl, a_new_replica_leaves_the_reassignment_under_way_until_it_is_cancelled) {
  add_partition({1}, {1}, 1);
  EXPECT_EQ(alter({{2}}).error_code, 0);
  EXPECT_EQ(partition().replicas, nodes({2, 1}));
  EXPECT_EQ(partition().adding_replicas, nodes({2}));
  EXPECT_EQ(partition().removing_replicas, nodes({1}));
  EXPECT_EQ(partition().leader, NodeId{1});
  EXPECT_EQ(partition().directories.size(), 2u);
  EXPECT_EQ(ongoing(true), 1u);
  EXPECT_EQ(ongoing(false), 1u);
  EXPECT_EQ(alter(std::nullopt).error_code, 0);
  EXPECT_EQ(partition().replicas, nodes({1}));
  EXPECT_FALSE(ongoing(true));
  EXPECT_EQ(alter(std::nullopt).error_code, to_wire(ErrorCode::no_reassignment_in_progress));
}

TEST_F(PartitionControl, a_cancelled_reassignment_whose_old_replicas_are_behind_would_lose_records) {
  add_partition({2, 1}, {2}, 2, {}, {2}, {1});
  const auto answer = alter(std::nullopt);
  EXPECT_EQ(answer.error_code, to_wire(ErrorCode::invalid_replica_assignment));
  EXPECT_EQ(
      answer.error_message->view(),
      "Unable to revert partition assignment for t:0 because it would require an unclean leader election.");
}

TEST_F(PartitionControl, the_replication_factor_is_kept_when_that_is_asked_for) {
  add_partition({1}, {1}, 1);
  const auto answer = alter({{1, 2}}, false);
  EXPECT_EQ(answer.error_code, to_wire(ErrorCode::invalid_replication_factor));
  EXPECT_EQ(answer.error_message->view(), "The replication factor is changed from 1 to 2");
  EXPECT_EQ(alter({{2}}, false).error_code, 0);
  // Now from {2, 1} with 1 on its way out: still a factor of 1.
  EXPECT_EQ(alter({{1}}, false).error_code, 0);
  EXPECT_EQ(partition().replicas, nodes({1}));
}

TEST_F(PartitionControl, who_was_unregistered_leads_nothing_and_is_in_no_isr) {
  add_partition({2, 1}, {2, 1}, 2);
  EXPECT_EQ(unregister(2), 0);
  EXPECT_EQ(image->broker(NodeId{2}), nullptr);
  EXPECT_EQ(partition().leader, NodeId{1});
  EXPECT_EQ(partition().isr, nodes({1}));
  EXPECT_EQ(partition().replicas, nodes({2, 1})) << "as in Kafka, reassigning it away is another request";
  EXPECT_EQ(unregister(2), to_wire(ErrorCode::broker_id_not_registered));
}

TEST_F(PartitionControl, the_last_one_in_sync_stays_eligible_when_it_is_unregistered) {
  fence(1, true);
  add_partition({2, 1}, {2}, 2);
  EXPECT_EQ(unregister(2), 0);
  EXPECT_EQ(partition().leader, metadata::no_node);
  EXPECT_TRUE(partition().isr.empty());
  EXPECT_EQ(partition().eligible_leader_replicas, nodes({2}));
  EXPECT_EQ(partition().last_known_elr, nodes({2}));
}

TEST_F(PartitionControl, the_running_broker_cannot_be_unregistered) {
  EXPECT_EQ(unregister(1), to_wire(ErrorCode::invalid_request));
  EXPECT_NE(image->broker(NodeId{1}), nullptr);
}

TEST_F(PartitionControl, a_quorum_with_voters_in_the_settings_has_no_directory_ids) {
  protocol::DescribeQuorumRequest request;
  auto& topic = request.topics.emplace_back();
  topic.topic_name = "__cluster_metadata";
  topic.partitions.emplace_back();
  ControllerState now = state();
  now.quorum.epoch = LeaderEpoch{7};
  now.quorum.directory_id = metadata::testing::id(5);
  now.quorum.controller_endpoint.listener = "CONTROLLER";
  const auto response = done(controller_.describe_quorum(request, now));
  const auto& answer = response.topics.at(0).partitions.at(0);
  EXPECT_EQ(answer.leader_epoch, 7);
  EXPECT_EQ(answer.high_watermark, now.next_offset.value());
  EXPECT_TRUE(answer.current_voters.at(0).replica_directory_id.is_zero());
  EXPECT_EQ(response.nodes.at(0).listeners.at(0).name.view(), "CONTROLLER");
}

}  // namespace
}  // namespace barnabas::cluster
