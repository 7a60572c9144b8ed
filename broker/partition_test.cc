#include "broker/partition.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <thread>

#include "io/fake_disk.h"
#include "protocol/records/record_batch_builder.h"
#include "storage/file_pool.h"

namespace barnabas::broker {
namespace {

/// Counts what it is told and remembers whether it was told at all.
class CountingWaiter : public ProgressWaiter {
 public:
  void on_progress(const Progress& more) override {
    told += 1;
    progress += more.bytes;
    committed += more.committed_bytes;
  }
  std::atomic<int> told{0};
  std::atomic<uint64_t> progress{0};
  std::atomic<uint64_t> committed{0};
};

/// The outcome of a wait for durability, from whatever thread.
struct Outcome {
  void set(const Result<void>& durable) {
    const std::scoped_lock lock(mutex);
    result = durable;
    arrived.notify_all();
  }
  Result<void> wait() {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(arrived.wait_for(lock, std::chrono::seconds(10), [&] { return result.has_value(); }));
    return result.value_or(fail(ErrorKind::timed_out, "no answer"));
  }
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<Result<void>> result;
};

class PartitionTest : public ::testing::Test {
 protected:
  void SetUp() override { open(true); }

  void open(bool flush_before_ack) {
    disk.put_file("/logs/marker", "");
    services.flush_before_ack = flush_before_ack;
    storage::Log::OpenOptions options;
    options.topic = "t";
    options.config = std::make_shared<storage::LogConfig>();
    options.now = TimestampMs{1};
    auto log = storage::Log::open(disk, files, "/logs/t-0", options);
    ASSERT_TRUE(log) << log.error().message;
    partition =
        std::make_shared<Partition>(storage::TopicPartition{"t", PartitionIndex{0}}, Uuid{}, std::move(*log),
                                    LeaderEpoch{0}, std::make_shared<TopicSettings>(), services);
  }

  Offset append(bool wait_for_disk) {
    auto batch = protocol::single_record_batch(TimestampMs{5}, std::nullopt, as_byte_view("value"));
    const auto appended = partition->append(batch, wait_for_disk, TimestampMs{5});
    EXPECT_TRUE(appended) << appended.error().message;
    return appended ? appended->last_offset + 1 : no_offset;
  }

  Result<void> wait_durable(Offset end) {
    // Shared: the thread that sets it may still hold it when the wait is over.
    const auto outcome = std::make_shared<Outcome>();
    partition->when_durable(end, Instant::max(),
                            [outcome](const Result<void>& durable) { outcome->set(durable); });
    return outcome->wait();
  }

  io::FakeDisk disk;
  storage::FilePool files{disk, 10};
  io::DiskPool pool{{.name = "disk", .threads = 2}};
  std::atomic<int> reported{0};
  PartitionServices services{pool, [this](const storage::TopicPartition&, const Error&) { ++reported; },
                             true};
  std::shared_ptr<Partition> partition;
};

TEST_F(PartitionTest, what_waits_for_the_disk_is_shown_only_when_it_is_there) {
  const Offset end = append(true);
  EXPECT_EQ(partition->high_watermark(), Offset{0});
  ASSERT_TRUE(wait_durable(end));
  EXPECT_EQ(partition->high_watermark(), end);
  EXPECT_GE(partition->log().recovery_point(), end);
}

TEST_F(PartitionTest, what_does_not_wait_is_shown_at_once) {
  const Offset end = append(false);
  EXPECT_EQ(partition->high_watermark(), end);
}

TEST_F(PartitionTest, without_flush_before_ack_everything_is_shown_at_once) {
  services.flush_before_ack = false;
  const Offset end = append(true);
  EXPECT_EQ(partition->high_watermark(), end);
}

TEST_F(PartitionTest, one_sync_serves_all_that_wait) {
  std::vector<std::unique_ptr<Outcome>> outcomes;
  const uint64_t before = disk.calls(io::DiskCall::sync_data);
  for (int i = 0; i < 200; ++i) {
    const Offset end = append(true);
    outcomes.push_back(std::make_unique<Outcome>());
    partition->when_durable(
        end, Instant::max(),
        [&, at = outcomes.back().get()](const Result<void>& durable) { at->set(durable); });
  }
  for (auto& outcome : outcomes) EXPECT_TRUE(outcome->wait());
  EXPECT_EQ(partition->high_watermark(), Offset{200});
  EXPECT_LT(disk.calls(io::DiskCall::sync_data) - before, 400U);
}

TEST_F(PartitionTest, a_failed_sync_is_told_to_all_and_reported) {
  const Offset end = append(true);
  disk.add_fault({.call = io::DiskCall::sync_data, .for_good = true});
  EXPECT_FALSE(wait_durable(end));
  EXPECT_GE(reported.load(), 1);
  EXPECT_EQ(partition->high_watermark(), Offset{0});
}

TEST_F(PartitionTest, a_sync_that_hangs_ends_waits_at_their_deadline) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  for (std::size_t i = 0; i < pool.threads(); ++i) ASSERT_TRUE(pool.submit([released] { released.wait(); }));
  const Instant now = std::chrono::steady_clock::now();
  const Offset end = append(true);
  Outcome impatient;
  Outcome patient;
  partition->when_durable(end, now, [&](const Result<void>& durable) { impatient.set(durable); });
  partition->when_durable(end, now + std::chrono::hours(1),
                          [&](const Result<void>& durable) { patient.set(durable); });
  EXPECT_EQ(services.waiting.size(), 1u) << "partitions in which nobody waits cost the round nothing";
  services.waiting.expire(now + std::chrono::seconds(1));
  const auto answer = impatient.wait();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::timed_out);
  EXPECT_FALSE(patient.result.has_value());
  release.set_value();
  EXPECT_TRUE(patient.wait());
  EXPECT_EQ(partition->high_watermark(), end);
  EXPECT_EQ(services.waiting.size(), 0u);
}

TEST_F(PartitionTest, deletion_ends_waits_for_the_disk_with_its_reason) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  for (std::size_t i = 0; i < pool.threads(); ++i) ASSERT_TRUE(pool.submit([released] { released.wait(); }));
  Outcome outcome;
  partition->when_durable(append(true), Instant::max(),
                          [&](const Result<void>& durable) { outcome.set(durable); });
  partition->deactivate({ErrorKind::not_found, "topic t was deleted"});
  EXPECT_EQ(outcome.wait().error().kind, ErrorKind::not_found);
  release.set_value();
}

TEST_F(PartitionTest, a_waiter_hears_of_progress_once_it_is_registered) {
  const auto waiter = std::make_shared<CountingWaiter>();
  Partition::WaiterHandle handle;
  ASSERT_TRUE(partition->add_waiter(waiter, partition->high_watermark(), handle));
  append(false);
  EXPECT_EQ(waiter->told.load(), 1);
  EXPECT_GT(waiter->progress.load(), 60U);
  partition->remove_waiter(handle);
  append(false);
  EXPECT_EQ(waiter->told.load(), 1);
}

TEST_F(PartitionTest, readers_of_what_is_committed_hear_of_an_open_transaction_when_it_ends) {
  const auto transactional = [&](int32_t sequence) {
    protocol::RecordBatchOptions options;
    options.producer_id = ProducerId{7};
    options.producer_epoch = ProducerEpoch{0};
    options.base_sequence = sequence;
    options.transactional = true;
    protocol::RecordBatchBuilder builder(options);
    builder.append(TimestampMs{5}, std::nullopt, as_byte_view(std::string(1'000, 'x')));
    auto batch = builder.build();
    ASSERT_TRUE(partition->append(batch, false, TimestampMs{5}));
  };
  transactional(0);
  const auto waiter = std::make_shared<CountingWaiter>();
  Partition::WaiterHandle handle;
  ASSERT_TRUE(partition->add_waiter(waiter, partition->high_watermark(), handle));
  transactional(1);
  append(false);
  EXPECT_GT(waiter->progress.load(), 1'000U);
  EXPECT_EQ(waiter->committed.load(), 0U);
  const auto marker = partition->append_marker(
      {.producer_id = ProducerId{7}, .producer_epoch = ProducerEpoch{0}, .committed = true}, TimestampMs{6});
  ASSERT_TRUE(marker);
  ASSERT_TRUE(wait_durable(marker->last_offset + 1));
  EXPECT_GT(waiter->committed.load(), 2'000U) << "all that the transaction held back";
  const uint64_t before = waiter->committed;
  append(false);
  EXPECT_GT(waiter->committed.load(), before);
  EXPECT_LT(waiter->committed.load(), before + 1'000);
  partition->remove_waiter(handle);
}

TEST_F(PartitionTest, a_waiter_that_missed_something_is_not_registered) {
  append(false);
  Partition::WaiterHandle handle;
  EXPECT_FALSE(partition->add_waiter(std::make_shared<CountingWaiter>(), Offset{0}, handle));
}

TEST_F(PartitionTest, deactivation_wakes_everybody_and_refuses_what_follows) {
  const auto waiter = std::make_shared<CountingWaiter>();
  Partition::WaiterHandle handle;
  ASSERT_TRUE(partition->add_waiter(waiter, partition->high_watermark(), handle));
  partition->deactivate({ErrorKind::not_found, "gone"});
  EXPECT_EQ(waiter->told.load(), 1);
  partition->remove_waiter(handle);
  auto batch = protocol::single_record_batch(TimestampMs{5}, std::nullopt, as_byte_view("value"));
  EXPECT_FALSE(partition->append(batch, false, TimestampMs{5}));
  EXPECT_FALSE(wait_durable(Offset{1}));
}

TEST_F(PartitionTest, no_progress_is_missed_while_many_threads_append) {
  constexpr int appends = 500;
  std::atomic<bool> done{false};
  std::thread reader([&] {
    Offset seen = partition->high_watermark();
    while (!done) {
      const auto waiter = std::make_shared<CountingWaiter>();
      Partition::WaiterHandle handle;
      seen = partition->high_watermark();
      if (!partition->add_waiter(waiter, seen, handle)) continue;
      while (waiter->told == 0 && !done) std::this_thread::yield();
      partition->remove_waiter(handle);
      // It may hear of what it had already seen; it must not hear of nothing while there is more.
      EXPECT_GE(partition->high_watermark(), seen);
    }
  });
  std::vector<std::thread> writers;
  for (int t = 0; t < 2; ++t)
    writers.emplace_back([&, t] {
      for (int i = 0; i < appends; ++i) {
        const Offset end = append(t == 0);
        if (t == 0) {
          EXPECT_TRUE(wait_durable(end));
        }
      }
    });
  for (auto& writer : writers) writer.join();
  done = true;
  reader.join();
  EXPECT_EQ(partition->high_watermark(), Offset{2 * appends});
}

}  // namespace
}  // namespace barnabas::broker
