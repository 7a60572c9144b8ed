#include <gtest/gtest.h>

#include "cluster/controller_test_support.h"

namespace barnabas::cluster {
namespace {

using protocol::ErrorCode;
using protocol::to_wire;

Uuid number_id(uint8_t number) {
  return metadata::testing::id(number);
}

class BrokerControl : public testing::ControllerTest {};

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
  EXPECT_EQ(done(controller_.allocate_producer_ids(request, state())).error_code,
            to_wire(ErrorCode::stale_broker_epoch));
  request.broker_epoch = 5;
  for (const int64_t start : {0, 1000, 2000}) {
    const auto response = done(controller_.allocate_producer_ids(request, state()));
    EXPECT_EQ(response.producer_id_start, start);
    EXPECT_EQ(response.producer_id_len, 1000);
  }
}

}  // namespace
}  // namespace barnabas::cluster
