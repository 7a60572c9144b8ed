// Moving partitions between log directories.

#include <cerrno>
#include <thread>

#include "broker/replica_mover_test_support.h"

namespace barnabas::broker::moving {
namespace {

class ReplicaMoverTest : public testing::Test {
 protected:
  void start(int records = 40) {
    const auto started = broker.start();
    ASSERT_TRUE(started) << started.error().message;
    while (broker.appended < records) ASSERT_TRUE(broker.produce());
  }
  void expect_moved_to(const std::string& path) {
    EXPECT_TRUE(eventually([&] { return broker.settled(); }));
    EXPECT_EQ(broker.places(), path + "/t-0");
    EXPECT_EQ((*broker.node)->path_of(name), path);
    EXPECT_EQ(broker.assigned(), (*broker.node)->directory_of(name));
    broker.check("");
  }
  MovingBroker broker;
};

TEST_F(ReplicaMoverTest, a_partition_moves_with_all_that_it_knows) {
  start();
  EXPECT_EQ(broker.places(), "/one/t-0");
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(broker.produce());
  expect_moved_to("/two");
  ASSERT_TRUE(broker.produce());
  broker.stop();
  start();
  expect_moved_to("/two");
  ASSERT_EQ(broker.replicas->move(name, "/one"), ErrorCode::none);
  expect_moved_to("/one");
  ASSERT_TRUE(broker.produce());
}

/// Transactions of several producers in the partition that moves.
class MovingTransactionTest : public ReplicaMoverTest {
 protected:
  using VerificationGuard = storage::VerificationGuard;

  Result<storage::AppendResult> append(int64_t producer, int32_t sequence, VerificationGuard guard = {}) {
    protocol::RecordBatchOptions options;
    options.producer_id = ProducerId{producer};
    options.producer_epoch = ProducerEpoch{0};
    options.base_sequence = sequence;
    options.transactional = true;
    protocol::RecordBatchBuilder builder(options);
    builder.append(TimestampMs{1}, std::nullopt, as_byte_view("value"));
    auto batch = builder.build();
    return broker.partition()->append(batch, false, TimestampMs{1}, storage::AppendOrigin::client,
                                      {.must_be_verified = true, .guard = guard});
  }
  VerificationGuard ask(int64_t producer) {
    const auto guard = broker.partition()->begin_verification(
        {.producer_id = ProducerId{producer}, .epoch = ProducerEpoch{0}, .sequence = 0}, TimestampMs{1});
    EXPECT_TRUE(guard) << guard.error().message;
    return guard.value_or(storage::no_guard);
  }
  /// Returns once readers can see it.
  void end(int64_t producer, bool committed) {
    const auto partition = broker.partition();
    const auto marker = partition->append_marker(
        {.producer_id = ProducerId{producer}, .producer_epoch = ProducerEpoch{0}, .committed = committed},
        TimestampMs{2});
    ASSERT_TRUE(marker) << marker.error().message;
    partition->when_durable(marker->last_offset + 1, Instant::max(), [](const Result<void>&) {});
    ASSERT_TRUE(eventually([&] { return partition->high_watermark() > marker->last_offset; }));
  }
};

TEST_F(MovingTransactionTest, open_transactions_and_questions_about_some_move_along) {
  start();
  ASSERT_TRUE(append(8, 0, ask(8)));    // 40
  ASSERT_TRUE(append(10, 0, ask(10)));  // 41
  end(10, false);                       // 42
  const VerificationGuard asked_before = ask(9);
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  ASSERT_TRUE(eventually([&] { return broker.settled(); }));
  EXPECT_EQ(broker.places(), "/two/t-0");
  EXPECT_EQ(broker.partition()->last_stable_offset(), Offset{40});
  EXPECT_EQ(ask(8), storage::no_guard) << "it is open";
  EXPECT_TRUE(append(8, 1));                // 43
  EXPECT_TRUE(append(9, 0, asked_before));  // 44
  const auto aborted = broker.partition()->log().aborted_transactions(Offset{0}, Offset{45});
  ASSERT_TRUE(aborted);
  ASSERT_EQ(aborted->size(), 1U);
  EXPECT_EQ(aborted->front().producer_id, ProducerId{10});
  end(8, true);
  EXPECT_EQ(broker.partition()->last_stable_offset(), Offset{44});
  EXPECT_FALSE(append(8, 2)) << "its transaction has ended";
  broker.crash();
  ASSERT_TRUE(broker.start());
  EXPECT_EQ(broker.partition()->last_stable_offset(), Offset{44});
  end(9, true);
  EXPECT_EQ(broker.partition()->last_stable_offset(), broker.partition()->log().log_end_offset());
}

TEST_F(ReplicaMoverTest, an_object_that_was_given_out_stays_readable) {
  start();
  storage::Log& before = broker.partition()->log();
  const auto slice = before.read(Offset{0}, 1 << 20, Offset{40}, true);
  ASSERT_TRUE(slice);
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  expect_moved_to("/two");
  EXPECT_EQ(storage::values_of(before).size(), 40U);
  std::vector<std::byte> bytes(slice->slice.length);
  EXPECT_EQ(slice->slice.file->read_at(bytes, slice->slice.position).value_or(0), bytes.size());
}

TEST_F(ReplicaMoverTest, what_was_deleted_stays_deleted_and_its_producer_known) {
  start();
  ASSERT_TRUE(broker.partition()->delete_records_before(Offset{40}));
  broker.deleted = 40;
  (*broker.node)->write_checkpoints();
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  ASSERT_TRUE(eventually([&] { return broker.settled(); }));
  EXPECT_EQ(broker.places(), "/two/t-0");
  EXPECT_EQ(broker.partition()->log().log_start_offset(), Offset{40});
  for (int life = 0; life < 2; ++life) {
    auto repeated = broker.batch(39);
    const auto again = broker.partition()->append(repeated, true, TimestampMs{1});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->duplicate) << "no batch of it is left to tell";
    broker.crash();
    ASSERT_TRUE(broker.start());
  }
}

TEST_F(ReplicaMoverTest, records_deleted_up_to_the_middle_of_a_batch_stay_deleted) {
  start(1);
  protocol::RecordBatchBuilder builder;
  for (int i = 0; i < 10; ++i) builder.append(TimestampMs{5}, std::nullopt, as_byte_view("value"));
  auto bytes = builder.build();
  ASSERT_TRUE(broker.partition()->append(bytes, false, TimestampMs{5}));
  ASSERT_TRUE(broker.partition()->delete_records_before(Offset{5}));
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  ASSERT_TRUE(eventually([&] { return broker.settled(); }));
  EXPECT_EQ(broker.places(), "/two/t-0");
  EXPECT_EQ(broker.partition()->log().log_start_offset(), Offset{5});
  EXPECT_EQ(broker.partition()->log().log_end_offset(), Offset{11});
}

TEST_F(ReplicaMoverTest, a_rate_holds_it_back_and_can_be_changed) {
  broker.rate = 100;
  start();
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  EXPECT_FALSE(eventually([&] { return broker.settled(); }, milliseconds(200)));
  const auto described = (*broker.node)->describe();
  ASSERT_EQ(described.at(1).partitions.size(), 1U);
  EXPECT_TRUE(described.at(1).partitions.at(0).is_future);
  EXPECT_GT(described.at(1).partitions.at(0).offset_lag, 0);
  EXPECT_EQ(described.at(0).partitions.at(0).offset_lag, 0);
  broker.mover->set_bytes_per_second(ReplicaMover::unlimited);
  expect_moved_to("/two");
}

TEST_F(ReplicaMoverTest, a_request_to_stay_ends_a_move_and_another_directory_replaces_it) {
  MovingBroker three({"/one", "/two", "/three"});
  three.rate = 100;
  ASSERT_TRUE(three.start());
  while (three.appended < 20) ASSERT_TRUE(three.produce());
  ASSERT_EQ(three.replicas->move(name, "/two"), ErrorCode::none);
  EXPECT_EQ(three.places(), "/one/t-0 /two/t-0-future");
  ASSERT_EQ(three.replicas->move(name, "/two"), ErrorCode::none);
  ASSERT_EQ(three.replicas->move(name, "/three"), ErrorCode::none);
  EXPECT_EQ(three.places(), "/one/t-0 /three/t-0-future");
  ASSERT_EQ(three.replicas->move(name, "/one"), ErrorCode::none);
  EXPECT_EQ(three.places(), "/one/t-0");
  EXPECT_EQ(three.mover->moving(), 0U);
  three.check("");
}

TEST_F(ReplicaMoverTest, requests_are_refused_as_by_kafka) {
  start(1);
  EXPECT_EQ(broker.replicas->move(name, "/one"), ErrorCode::none) << "there already";
  EXPECT_EQ(broker.places(), "/one/t-0");
  EXPECT_EQ(broker.replicas->move(name, "/two/"), ErrorCode::log_dir_not_found);
  EXPECT_EQ(broker.replicas->move({"nope", PartitionIndex{0}}, "/nope"), ErrorCode::log_dir_not_found);
  EXPECT_EQ(broker.replicas->move({"nope", PartitionIndex{0}}, "/two"),
            ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(broker.replicas->move({std::string(214, 'n'), PartitionIndex{0}}, "/nope"),
            ErrorCode::invalid_topic_exception);
  broker.disk.add_fault({.path_part = "/two", .for_good = true});
  (*broker.node)->report_directory("/two", Error{ErrorKind::io, "dead"});
  EXPECT_EQ(broker.replicas->move(name, "/two"), ErrorCode::kafka_storage_error);
}

TEST_F(ReplicaMoverTest, a_partition_that_is_yet_to_be_made_goes_where_it_was_wished) {
  start(1);
  ASSERT_EQ(broker.replicas->move({"later", PartitionIndex{0}}, "/one"),
            ErrorCode::unknown_topic_or_partition);
  auto partition = metadata::testing::partition(id(2), 0);
  partition.directories = {metadata::directory_unassigned};
  auto next = metadata::testing::apply(*broker.publisher->current(), metadata::testing::topic("later", id(2)),
                                       partition);
  broker.publisher->publish(next.changes, next.image);
  broker.replicas->apply(next.changes, next.image);
  EXPECT_EQ((*broker.node)->path_of({"later", PartitionIndex{0}}), "/one") << "two has fewer";
}

TEST_F(ReplicaMoverTest, a_deleted_topic_takes_its_future_replica_along) {
  broker.rate = 100;
  start();
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  protocol::RemoveTopicRecord record;
  record.topic_id = id(1);
  auto next = metadata::testing::apply(*broker.publisher->current(), record);
  broker.replicas->apply(next.changes, next.image);
  EXPECT_EQ(broker.places(), "");
  broker.mover->set_bytes_per_second(ReplicaMover::unlimited);
  EXPECT_TRUE(eventually([&] { return broker.settled(); }));
}

TEST_F(ReplicaMoverTest, a_full_target_is_waited_for) {
  broker.rate = 100;
  start();
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  for (const uint64_t nth : {1U, 5U, 10U, 15U})
    broker.disk.add_fault(
        {.call = io::DiskCall::write, .path_part = "/two", .nth = nth, .system_error = ENOSPC});
  broker.mover->set_bytes_per_second(ReplicaMover::unlimited);
  ASSERT_TRUE(broker.produce());
  expect_moved_to("/two");
}

TEST_F(ReplicaMoverTest, a_controller_that_refuses_is_asked_again) {
  start();
  broker.controller->refuse = 1;
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  ASSERT_TRUE(broker.produce());
  expect_moved_to("/two");
}

TEST_F(ReplicaMoverTest, what_is_acknowledged_while_the_controller_decides_is_in_both) {
  start();
  std::atomic<bool> asked = false, go_on = false;
  broker.controller->before = [&] {
    asked = true;
    EXPECT_TRUE(eventually([&] { return go_on.load(); }));
  };
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  ASSERT_TRUE(eventually([&] { return asked.load(); }));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(broker.produce());
  const auto future = (*broker.node)->future(name);
  ASSERT_TRUE(future);
  EXPECT_GE(future->log->recovery_point().value(), broker.durable);
  go_on = true;
  expect_moved_to("/two");
}

TEST_F(ReplicaMoverTest, a_dead_target_leaves_the_partition_where_it_is) {
  broker.rate = 2000;
  start();
  ASSERT_EQ(broker.replicas->move(name, "/two"), ErrorCode::none);
  broker.disk.add_fault({.path_part = "/two", .for_good = true});
  broker.mover->set_bytes_per_second(ReplicaMover::unlimited);
  EXPECT_TRUE(eventually([&] { return broker.settled(); }));
  EXPECT_TRUE(broker.produce());
  broker.check("");
  EXPECT_EQ(broker.places(), "/one/t-0");
}

// --- threads -----------------------------------------------------------------------------------------------

TEST(ReplicaMove, goes_back_and_forth_while_others_append_and_read) {
  MovingBroker broker;
  ASSERT_TRUE(broker.start());
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  others.emplace_back([&] {
    while (!stop) ASSERT_TRUE(broker.produce());
  });
  for (int reader = 0; reader < 2; ++reader) {
    others.emplace_back([&] {
      const auto partition = broker.partition();
      Offset at{0};
      while (!stop) {
        const Offset bound = partition->high_watermark();
        auto found = partition->log().read(at, 2'000, bound, true);
        ASSERT_TRUE(found) << found.error().message;
        if (found->slice.length == 0) {
          std::this_thread::yield();
          continue;
        }
        std::vector<std::byte> bytes(found->slice.length);
        ASSERT_EQ(found->slice.file->read_at(bytes, found->slice.position).value_or(0), bytes.size());
        protocol::BatchIterator batches(bytes);
        while (batches.next() == protocol::BatchIterator::Step::batch) {
          ASSERT_TRUE(batches.batch().verify_crc());
          ASSERT_EQ(batches.batch().base_offset(), at);
          at = batches.batch().next_offset();
        }
        (void)partition->last_stable_offset();
        if (at.value() > 500) at = Offset{0};
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const std::string path = i % 2 == 0 ? "/two" : "/one";
    ASSERT_EQ(broker.replicas->move(name, path), ErrorCode::none);
    ASSERT_TRUE(eventually([&] { return broker.settled(); }));
    ASSERT_EQ(broker.places(), path + "/t-0");
    (*broker.node)->tick(std::chrono::steady_clock::now(), TimestampMs{1'700'000'000'000});
  }
  stop = true;
  for (std::thread& other : others) other.join();
  broker.check("");
}

}  // namespace
}  // namespace barnabas::broker::moving
