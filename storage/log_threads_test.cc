// Appends, reads, flushes, rolls, retention and truncation of one log from several threads. The thread
// sanitizer looks on in its own build.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "storage/log_fixture.h"

namespace barnabas::storage {
namespace {

using namespace test;

class LogThreadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    log.config.segment_bytes = 20'000;
    log.config.index_interval_bytes = 500;
    log.config.retention_ms = -1;
    log.config.retention_bytes = 60'000;
    log.open();
  }

  /// Reads on from the log start until told to stop, checking each record.
  void read_on(const std::atomic<bool>& stop) {
    Offset at = log.log->log_start_offset();
    while (!stop) {
      auto result = log.log->read(at, 3'000, log.log->log_end_offset(), true);
      if (!result) {  // retention was faster
        ASSERT_EQ(result.error().kind, ErrorKind::out_of_range) << result.error().message;
        at = log.log->log_start_offset();
        continue;
      }
      if (result->slice.length == 0) {
        std::this_thread::yield();
        continue;
      }
      Bytes bytes(result->slice.length);
      ASSERT_EQ(result->slice.file->read_at(bytes, result->slice.position).value_or(0), bytes.size());
      protocol::BatchIterator iterator(bytes);
      while (iterator.next() == protocol::BatchIterator::Step::batch) {
        ASSERT_TRUE(iterator.batch().verify_crc());
        ASSERT_EQ(iterator.batch().base_offset(), at);
        at = iterator.batch().next_offset();
      }
      ASSERT_EQ(at, result->next_offset);
    }
  }

  TestLog log;
};

TEST_F(LogThreadsTest, readers_see_whole_batches_in_order_while_everything_changes) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) others.emplace_back([&] { read_on(stop); });
  others.emplace_back([&] {
    while (!stop) {
      const auto flushed = log.log->flush();
      ASSERT_TRUE(flushed) << flushed.error().message;
      ASSERT_LE(*flushed, log.log->log_end_offset());
      ASSERT_GE(log.log->recovery_point(), *flushed);
    }
  });
  others.emplace_back([&] {
    while (!stop) {
      const auto retained = log.log->apply_retention(log.now, log.log->log_end_offset());
      ASSERT_TRUE(retained) << retained.error().message;
      for (const std::string& path : log.log->take_deleted_files()) ASSERT_TRUE(log.disk.remove(path));
      static_cast<void>(log.log->offset_for_timestamp(TimestampMs{1'100}).has_value());
      static_cast<void>(log.log->last_stable_offset(log.log->log_end_offset()));
      static_cast<void>(log.log->end_offset_for_epoch(LeaderEpoch{0}));
      log.log->expire_producers(log.now);
    }
  });
  std::vector<std::thread> producers;
  for (int64_t id = 0; id < 2; ++id)
    producers.emplace_back([&, id] {
      for (int32_t i = 0; i < 1'500; ++i) {
        Bytes bytes = batch({.records = 2, .value_bytes = 100, .producer_id = id, .sequence = 2 * i});
        const auto result = log.log->append_as_leader(bytes, LeaderEpoch{0}, log.now);
        ASSERT_TRUE(result) << result.error().message;
        if (i % 200 != 0) continue;
        ASSERT_TRUE(log.log->roll(log.now));
      }
    });
  for (std::thread& one : producers) one.join();
  stop = true;
  for (std::thread& one : others) one.join();
  EXPECT_EQ(log.end(), Offset{6'000});
  log.reopen();
  EXPECT_EQ(log.end(), Offset{6'000});
  EXPECT_EQ(static_cast<int64_t>(log.offsets().size()), log.end() - log.start());
}

TEST_F(LogThreadsTest, truncation_runs_beside_readers_and_flushes) {
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) {
      const auto result = log.log->read(Offset{0}, 5'000, log.log->log_end_offset(), true);
      ASSERT_TRUE(result || result.error().kind == ErrorKind::out_of_range ||
                  result.error().kind == ErrorKind::corrupt);
    }
  });
  std::thread flusher([&] {
    while (!stop) ASSERT_TRUE(log.log->flush());
  });
  for (int round = 0; round < 30; ++round) {
    const Offset before = log.end();
    for (int i = 0; i < 40; ++i) log.append(batch({.records = 1, .value_bytes = 300}));
    ASSERT_TRUE(log.log->truncate_to(before + 10));
    ASSERT_EQ(log.end(), before + 10);
  }
  stop = true;
  reader.join();
  flusher.join();
  EXPECT_EQ(log.offsets().size(), 300u);
}

TEST(FilePoolThreads, a_file_is_opened_for_the_first_time_while_its_place_is_given_up) {
  io::FakeDisk disk;
  ASSERT_TRUE(disk.create_directories("/d"));
  ASSERT_TRUE(disk.open("/d/file", io::OpenMode::create));
  FilePool pool(disk, 2);
  for (int round = 0; round < 200; ++round) {
    FilePool::Slot slot;
    std::thread reader(
        [&] { EXPECT_TRUE(pool.get(slot, io::OpenMode::read, [] { return std::string("/d/file"); })); });
    slot.release();
    reader.join();
  }
  EXPECT_EQ(pool.open_files(), 0U);
}

}  // namespace
}  // namespace barnabas::storage
