#include "broker/coordinators/transaction_coordinator.h"

#include <cerrno>

#include "broker/coordinators/transaction_machine.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using testing::TestProducer;
using testing::TransactionMachine;
using Content = std::vector<std::string>;

const std::string state_log = "/data/__transaction_state-0";

class TransactionCoordinatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(machine.start());
    ASSERT_TRUE(machine.create_topic("t", 2));
    ASSERT_TRUE(machine.wait_until_ready());
  }
  TestProducer init(const std::string& id) {
    auto producer = machine.init(id);
    EXPECT_TRUE(producer);
    return producer.value_or(TestProducer{});
  }
  static std::optional<ErrorCode> error_of(const std::optional<TransactionMachine::Ended>& ended) {
    if (!ended) return std::nullopt;
    return *ended ? static_cast<ErrorCode>((*ended)->error_code) : ended->error();
  }
  bool comes_to(const std::string& state) { return machine.comes_to("id", state); }

  TransactionMachine machine;
};

TEST_F(TransactionCoordinatorTest, a_commit_and_an_abort_reach_all_partitions) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  ASSERT_TRUE(machine.write(producer, "t", 1, "b"));
  EXPECT_FALSE(machine.is_decided("t", 0));
  ASSERT_TRUE(machine.end_and_go_on(producer, true));
  ASSERT_TRUE(comes_to("CompleteCommit"));
  ASSERT_TRUE(machine.write(producer, "t", 0, "c"));
  ASSERT_TRUE(machine.end_and_go_on(producer, false));
  ASSERT_TRUE(comes_to("CompleteAbort"));
  EXPECT_EQ(machine.content("t", 0), (Content{"a", "commit", "c", "abort"}));
  EXPECT_EQ(machine.content("t", 1), (Content{"b", "commit"}));
  EXPECT_TRUE(machine.is_decided("t", 0));
}

TEST_F(TransactionCoordinatorTest, nothing_is_carried_out_before_the_outcome_is_on_disk) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  const auto disk = machine.hold_disk();
  const auto ended = machine.end(producer, true);
  // Decided, as whoever asks next is not answered at once.
  const auto state = machine.ask<protocol::DescribeTransactionsResponse::TransactionState>(
      "id", 0, [](auto& shard, const auto&, auto reply) { return shard.describe("id", std::move(reply)); });
  machine.run_what_was_asked();
  EXPECT_EQ(machine.content("t", 0), Content{"a"});
  EXPECT_FALSE(ended->came());
  EXPECT_FALSE(state->came());
  disk->count_down();
  EXPECT_EQ(error_of(ended->wait()), ErrorCode::none);
  EXPECT_TRUE(comes_to("CompleteCommit"));
  EXPECT_EQ(machine.content("t", 0), (Content{"a", "commit"}));
}

TEST_F(TransactionCoordinatorTest, a_refused_append_leaves_the_transaction_as_it_was) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  machine.disk.add_fault({.call = io::DiskCall::write, .path_part = state_log, .system_error = ENOSPC});
  EXPECT_NE(error_of(machine.end(producer, true)->wait()), ErrorCode::none);
  EXPECT_TRUE(comes_to("Ongoing"));
  EXPECT_TRUE(machine.end_and_go_on(producer, false));
  EXPECT_TRUE(comes_to("CompleteAbort"));
}

TEST_F(TransactionCoordinatorTest, a_marker_that_cannot_be_written_is_tried_again) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  ASSERT_TRUE(machine.write(producer, "t", 1, "b"));
  machine.disk.add_fault({.call = io::DiskCall::write, .path_part = "/data/t-1", .system_error = ENOSPC});
  ASSERT_TRUE(machine.end_and_go_on(producer, true));
  ASSERT_TRUE(comes_to("CompleteCommit"));
  EXPECT_FALSE(machine.disk.fault_pending());
  EXPECT_EQ(machine.content("t", 0), (Content{"a", "commit"}))
      << "those that are written are not written again";
  EXPECT_EQ(machine.content("t", 1), (Content{"b", "commit"}));
}

TEST_F(TransactionCoordinatorTest, a_deleted_topic_keeps_no_transaction_open) {
  ASSERT_TRUE(machine.create_topic("gone", 1));
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  ASSERT_TRUE(machine.write(producer, "gone", 0, "b"));
  machine.delete_topic("gone");
  ASSERT_TRUE(machine.end_and_go_on(producer, true));
  EXPECT_TRUE(comes_to("CompleteCommit"));
}

TEST_F(TransactionCoordinatorTest, an_older_producer_is_fenced_and_its_transaction_aborted) {
  TestProducer zombie = init("id");
  ASSERT_TRUE(machine.write(zombie, "t", 0, "a"));
  TestProducer producer = init("id");
  EXPECT_EQ(producer.id, zombie.id);
  EXPECT_GT(producer.epoch, zombie.epoch);
  EXPECT_EQ(error_of(machine.end(zombie, true)->wait()), ErrorCode::producer_fenced);
  EXPECT_EQ(TransactionMachine::error_of(machine.verify(zombie, "t", {0})->wait()),
            ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(machine.content("t", 0), (Content{"a", "abort"}));
}

TEST_F(TransactionCoordinatorTest, what_was_decided_before_a_stop_is_carried_out_after_the_start) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  const auto disk = machine.hold_disk();
  const auto ended = machine.end(producer, true);
  std::thread stopping([&] { machine.stop_coordinators(); });
  disk->count_down();
  stopping.join();
  EXPECT_EQ(error_of(ended->wait()), ErrorCode::none) << "it was decided, and is on its way to the disk";
  machine.crash();
  ASSERT_TRUE(machine.start());
  ASSERT_TRUE(comes_to("CompleteCommit"));
  EXPECT_EQ(machine.content("t", 0).front(), "a");
  EXPECT_EQ(machine.content("t", 0).back(), "commit");
  EXPECT_TRUE(machine.is_decided("t", 0));
}

TEST_F(TransactionCoordinatorTest, markers_that_are_on_their_way_when_it_stops_harm_nobody) {
  for (int i = 0; i < 20; ++i) {
    TestProducer producer = init("id");
    ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
    (void)machine.end(producer, true);
    machine.stop_coordinators();
    machine.crash();
    ASSERT_TRUE(machine.start());
    ASSERT_TRUE(machine.eventually([&] { return machine.state_of("id").has_value(); }));
  }
  ASSERT_TRUE(comes_to("CompleteCommit") || comes_to("Ongoing"));
}

TEST_F(TransactionCoordinatorTest, an_outcome_that_may_be_gone_is_carried_out_by_nobody) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  machine.disk.add_fault({.call = io::DiskCall::sync_data, .path_part = state_log});
  EXPECT_EQ(error_of(machine.end(producer, true)->wait()), ErrorCode::not_coordinator);
  EXPECT_EQ(TransactionMachine::error_of(machine.verify(producer, "t", {0})->wait()),
            ErrorCode::not_enough_replicas);
  machine.power_cut(1);
  ASSERT_TRUE(machine.start());
  EXPECT_TRUE(comes_to("Ongoing"));
  EXPECT_EQ(machine.content("t", 0), Content{"a"});
}

TEST_F(TransactionCoordinatorTest, verification_adds_partitions_or_only_looks) {
  TestProducer producer = init("id");
  const auto only_looked = machine.verify(producer, "t", {0}, true)->wait();
  EXPECT_NE(TransactionMachine::error_of(only_looked), ErrorCode::none);
  EXPECT_EQ(TransactionMachine::error_of(machine.verify(producer, "t", {0, 1})->wait()), ErrorCode::none);
  const auto both = machine.verify(producer, "t", {1, 0}, true)->wait();
  ASSERT_TRUE(both);
  ASSERT_EQ(both->topic_results.size(), 1u);
  const auto& results = both->topic_results[0].results_by_partition;
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].partition_index, 1);
  EXPECT_EQ(results[1].partition_index, 0);
  EXPECT_EQ(results[0].partition_error_code, 0);
  EXPECT_EQ(results[1].partition_error_code, 0);
}

TEST_F(TransactionCoordinatorTest, a_new_leader_epoch_is_a_new_coordinator) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  machine.crash();
  ASSERT_TRUE(machine.start());
  ASSERT_TRUE(comes_to("Ongoing"));
  ASSERT_TRUE(machine.end_and_go_on(producer, true));
  ASSERT_TRUE(comes_to("CompleteCommit"));
  const auto producers = machine.partition("t", 0)->log().producers();
  ASSERT_EQ(producers.size(), 1u);
  EXPECT_EQ(producers[0].coordinator_epoch,
            machine.partition("__transaction_state", 0)->leader_epoch().value());
}

// --- markers
// -----------------------------------------------------------------------------------------------

class MarkerWriterTest : public TransactionCoordinatorTest {
 protected:
  MarkerWriter::Results write(coordinator::TransactionMarkers markers) {
    auto answer = std::make_shared<testing::Awaited<MarkerWriter::Results>>();
    machine.transactions().markers().write(markers,
                                           [answer](auto results) { answer->set(std::move(results)); });
    return answer->wait().value_or(MarkerWriter::Results{});
  }
  static coordinator::TransactionMarkers abort_of(const TestProducer& producer) {
    return {.transactional_id = "",
            .producer_id = producer.id,
            .producer_epoch = producer.epoch,
            .committed = false,
            .coordinator_epoch = 5,
            .transaction_version = 0,
            .partitions = {{"t", {0}}}};
  }
};

TEST_F(MarkerWriterTest, tells_of_each_partition_in_order) {
  auto markers = abort_of(init("id"));
  markers.partitions = {{"__consumer_offsets", {0, 9}}, {"nobody's", {0}}, {"t", {0, 1, 7}}};
  const auto results = write(markers);
  std::vector<std::pair<std::string, ErrorCode>> told;
  for (const auto& result : results)
    told.emplace_back(result.topic + "-" + std::to_string(result.partition), result.error);
  const std::vector<std::pair<std::string, ErrorCode>> expected{
      {"__consumer_offsets-0", ErrorCode::none},
      {"__consumer_offsets-9", ErrorCode::unknown_topic_or_partition},
      {"nobody's-0", ErrorCode::unknown_topic_or_partition},
      {"t-0", ErrorCode::none},
      {"t-1", ErrorCode::none},
      {"t-7", ErrorCode::unknown_topic_or_partition}};
  EXPECT_EQ(told, expected);
  EXPECT_EQ(machine.content("t", 0), Content{"abort"});
  EXPECT_EQ(machine.content("__consumer_offsets", 0), Content{"abort"});
}

TEST_F(MarkerWriterTest, ends_a_transaction_that_hangs) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  EXPECT_EQ(write(abort_of(producer)).front().error, ErrorCode::none);
  EXPECT_TRUE(machine.is_decided("t", 0));
}

TEST_F(MarkerWriterTest, older_producers_and_coordinators_are_refused) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "a"));
  ASSERT_EQ(write(abort_of(producer)).front().error, ErrorCode::none);
  auto older = abort_of(producer);
  older.coordinator_epoch = 4;
  EXPECT_EQ(write(older).front().error, ErrorCode::transaction_coordinator_fenced);
  older = abort_of(producer);
  older.producer_epoch = ProducerEpoch{static_cast<int16_t>(producer.epoch.value() - 1)};
  EXPECT_EQ(write(older).front().error, ErrorCode::invalid_producer_epoch);
}

TEST_F(MarkerWriterTest, without_partitions_there_is_nothing_to_wait_for) {
  auto markers = abort_of(TestProducer{});
  markers.partitions.clear();
  EXPECT_TRUE(write(markers).empty());
}

}  // namespace
}  // namespace barnabas::broker
