// The cleaner over the logs of a node: what it chooses, what it leaves alone, how it is stopped.

#include "storage/log_cleaner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "storage/log_manager_test_support.h"

namespace barnabas::storage {
namespace {

class LogCleanerTest : public ::testing::Test {
 protected:
  LogCleanerTest() {
    node.config.cleanup_compact = true;
    node.config.cleanup_delete = false;
    node.config.segment_bytes = 2'000;
  }
  void start() {
    const auto started = node.start();
    ASSERT_TRUE(started) << started.error().message;
    node->set_high_watermark_source([this](const TopicPartition& name) -> std::optional<Offset> {
      const auto log = node->get(name);
      return log ? std::optional((*log)->log_end_offset()) : std::nullopt;
    });
  }
  std::shared_ptr<Log> create(const std::string& topic) {
    LogManager::CreateOptions options;
    options.topic_id = Uuid::random();
    auto log = node->create(partition(topic), options, node.wall);
    EXPECT_TRUE(log) << log.error().message;
    return *log;
  }
  /// `count` values of one key, and a new segment.
  void put(Log& log, int count, const std::string& key = "key") {
    for (int i = 0; i < count; ++i) {
      const std::string value = std::to_string(i) + std::string(100, '.');
      auto batch = protocol::single_record_batch(node.wall, as_byte_view(key), as_byte_view(value));
      ASSERT_TRUE(log.append_as_leader(batch, LeaderEpoch{0}, node.wall));
    }
    ASSERT_TRUE(log.roll(node.wall));
  }
  static std::size_t records(Log& log) { return values_of(log).size(); }
  std::string checkpoint(const std::string& directory = "data") {
    return disk.content(directory + "/cleaner-offset-checkpoint").value_or("");
  }
  std::function<TimestampMs()> clock() {
    return [this] { return node.wall; };
  }
  template <class Condition>
  static bool eventually(Condition&& condition) {
    for (int i = 0; i < 5'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  io::FakeDisk disk;
  NodeStorage node{disk, {"data"}};
};

TEST_F(LogCleanerTest, compacts_what_is_dirty_and_remembers_it_in_the_checkpoint_file) {
  start();
  auto log = create("t");
  put(*log, 30);
  LogCleaner cleaner(*node, {}, clock());
  EXPECT_EQ(cleaner.clean_now(), 1u);
  EXPECT_EQ(records(*log), 1u);
  EXPECT_EQ(checkpoint(), "0\n1\nt 0 30\n");
  EXPECT_EQ(cleaner.clean_now(), 0u);
  log.reset();
  ASSERT_TRUE(node.stop());
  EXPECT_EQ(checkpoint(), "0\n1\nt 0 30\n");
  start();
  EXPECT_EQ((*node->get(partition("t")))->cleaned_to(), Offset{30});
}

TEST_F(LogCleanerTest, dirty_ratio_decides) {
  start();
  auto log = create("t");
  put(*log, 30);
  LogCleaner cleaner(*node, {}, clock());
  ASSERT_EQ(cleaner.clean_now(), 1u);
  for (int i = 0; i < 10; ++i) put(*log, 1, "key " + std::to_string(i));
  ASSERT_EQ(cleaner.clean_now(), 1u);
  put(*log, 5);
  EXPECT_EQ(cleaner.clean_now(), 0u) << "not more than half";
  LogConfig config = node.config;
  config.min_cleanable_dirty_ratio = 0.1;
  log->set_config(std::make_shared<LogConfig>(config));
  EXPECT_EQ(cleaner.clean_now(), 1u);
}

TEST_F(LogCleanerTest, policy_that_changes_takes_effect_at_once) {
  node.config.cleanup_compact = false;
  start();
  auto log = create("t");
  put(*log, 30);
  LogCleaner cleaner(*node, {}, clock());
  EXPECT_EQ(cleaner.clean_now(), 0u);
  LogConfig config = node.config;
  config.cleanup_compact = true;
  log->set_config(std::make_shared<LogConfig>(config));
  EXPECT_EQ(cleaner.clean_now(), 1u);
  put(*log, 60);
  config.cleanup_compact = false;
  log->set_config(std::make_shared<LogConfig>(config));
  EXPECT_EQ(cleaner.clean_now(), 0u);
  EXPECT_EQ(checkpoint(), "0\n1\nt 0 30\n") << "kept, as Kafka keeps it";
}

TEST_F(LogCleanerTest, round_without_work_asks_nothing_of_the_disk) {
  start();
  for (int i = 0; i < 20; ++i) put(*create("t" + std::to_string(i)), 30);
  LogCleaner cleaner(*node, {}, clock());
  ASSERT_EQ(cleaner.clean_now(), 20u);
  put(**node->get(partition("t3")), 1, "one more");
  cleaner.clean_now();
  disk.reset_counters();
  EXPECT_EQ(cleaner.clean_now(), 0u);
  EXPECT_EQ(disk.calls(), 0u);
}

TEST_F(LogCleanerTest, damaged_log_is_set_aside_and_stops_no_other) {
  start();
  auto bad = create("bad"), good = create("good");
  put(*bad, 30);
  put(*good, 20);
  bad.reset();
  good.reset();
  ASSERT_TRUE(node.stop());
  std::string content = *disk.content("data/bad-0/00000000000000000000.log");
  content[500] ^= 1;
  disk.put_file("data/bad-0/00000000000000000000.log", content);
  start();
  good = *node->get(partition("good"));
  LogCleaner cleaner(*node, {}, clock());
  cleaner.clean_now();
  EXPECT_EQ(records(*good), 1u);
  EXPECT_EQ(cleaner.uncleanable(), std::vector{partition("bad")});
  EXPECT_EQ(cleaner.clean_now(), 0u) << "not tried again";
  EXPECT_FALSE(node->usable_directories().empty());
  ASSERT_TRUE(node->remove(partition("bad"), node.now));
  bad = create("bad");
  put(*bad, 20);
  EXPECT_EQ(cleaner.clean_now(), 1u) << "a new one of that name is another one";
  EXPECT_TRUE(cleaner.uncleanable().empty());
}

TEST_F(LogCleanerTest, full_disk_is_waited_for) {
  start();
  auto log = create("t");
  put(*log, 30);
  log->flush().value();
  LogCleaner cleaner(*node, {}, clock());
  disk.set_capacity(0);
  EXPECT_EQ(cleaner.clean_now(), 1u) << "one attempt";
  EXPECT_TRUE(cleaner.uncleanable().empty());
  EXPECT_FALSE(node->usable_directories().empty());
  disk.set_capacity(1 << 30);
  EXPECT_EQ(cleaner.clean_now(), 1u);
  EXPECT_EQ(records(*log), 1u);
}

TEST_F(LogCleanerTest, failing_device_takes_its_directory_offline) {
  start();
  auto log = create("t");
  put(*log, 30);
  log->flush().value();
  LogCleaner cleaner(*node, {}, clock());
  disk.add_fault({.call = io::DiskCall::sync_data, .path_part = ".cleaned"});
  cleaner.clean_now();
  EXPECT_TRUE(node->usable_directories().empty());
}

TEST_F(LogCleanerTest, replaced_files_go_after_their_delay) {
  start();
  auto log = create("t");
  put(*log, 30);
  LogCleaner cleaner(*node, {}, clock());
  cleaner.clean_now();
  const auto deleted = [&] {
    return std::ranges::count_if(disk.all_files(),
                                 [](const std::string& path) { return path.ends_with(".deleted"); });
  };
  EXPECT_GT(deleted(), 0);
  node->tick(std::chrono::steady_clock::now() + std::chrono::minutes(2), node.wall);
  EXPECT_EQ(deleted(), 0);
}

TEST_F(LogCleanerTest, partition_that_goes_leaves_the_checkpoint_file) {
  start();
  put(*create("a"), 30);
  put(*create("b"), 30);
  LogCleaner cleaner(*node, {}, clock());
  ASSERT_EQ(cleaner.clean_now(), 2u);
  ASSERT_TRUE(node->remove(partition("a"), node.now));
  node->write_checkpoints();
  EXPECT_EQ(checkpoint(), "0\n1\nb 0 30\n");
}

TEST_F(LogCleanerTest, paused_partition_is_left_alone) {
  start();
  auto log = create("t");
  put(*log, 30);
  LogCleaner cleaner(*node, {}, clock());
  cleaner.abort_and_pause(partition("t"));
  cleaner.abort_and_pause(partition("t"));
  EXPECT_EQ(cleaner.clean_now(), 0u);
  cleaner.resume(partition("t"));
  EXPECT_EQ(cleaner.clean_now(), 0u);
  cleaner.resume(partition("t"));
  EXPECT_EQ(cleaner.clean_now(), 1u);
}

TEST_F(LogCleanerTest, small_key_map_takes_more_passes_without_waiting) {
  node.config.min_cleanable_dirty_ratio = 0;
  start();
  auto log = create("t");
  for (int i = 0; i < 100; ++i) put(*log, 1, "key " + std::to_string(i % 50));
  CleanerSettings settings;
  settings.dedupe_buffer_bytes = 20 * OffsetMap::slot_bytes;
  LogCleaner cleaner(*node, settings, clock());
  EXPECT_GT(cleaner.clean_now(), 3u);
  EXPECT_EQ(log->cleaned_to(), Offset{100});
  EXPECT_EQ(records(*log), 50u);
}

// --- with threads
// --------------------------------------------------------------------------------------------

TEST_F(LogCleanerTest, threads_find_work_and_are_throttled_interrupted_and_reconfigured) {
  start();
  auto log = create("t");
  put(*log, 200);
  CleanerSettings settings;
  settings.threads = 2;
  settings.io_bytes_per_second = 10;
  settings.backoff = std::chrono::milliseconds(5);
  LogCleaner cleaner(*node, settings, clock());
  cleaner.start();
  // So slow that it would take an hour; a pause gets through all the same.
  ASSERT_TRUE(eventually([&] { return disk.calls(io::DiskCall::read) > 0; }));
  cleaner.abort_and_pause(partition("t"));
  cleaner.resume(partition("t"));
  EXPECT_EQ(records(*log), 200u);
  settings.io_bytes_per_second = 1e9;
  cleaner.reconfigure(settings);
  EXPECT_TRUE(eventually([&] { return log->cleaned_to() == Offset{200}; }));
  EXPECT_EQ(records(*log), 1u);

  settings.threads = 0;
  cleaner.reconfigure(settings);
  put(*log, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(log->cleaned_to(), Offset{200});
  settings.threads = 1;
  cleaner.reconfigure(settings);
  EXPECT_TRUE(eventually([&] { return log->cleaned_to() == Offset{400}; }));
  cleaner.stop();
}

TEST_F(LogCleanerTest, everything_goes_on_while_logs_are_cleaned) {
  node.config.segment_bytes = 8'000;
  node.config.cleanup_delete = true;
  node.config.retention_bytes = 40'000;
  node.config.file_delete_delay_ms = 0;
  start();
  std::vector<std::shared_ptr<Log>> logs;
  for (int i = 0; i < 3; ++i) logs.push_back(create("t" + std::to_string(i)));
  CleanerSettings settings;
  settings.threads = 2;
  settings.backoff = std::chrono::milliseconds(1);
  LogCleaner cleaner(*node, settings, clock());
  cleaner.start();
  std::atomic<bool> stop = false, all_written = false;
  std::vector<std::thread> threads;
  for (const auto& log : logs)
    threads.emplace_back([&, log] {  // reads all of it, again and again
      while (!stop) {
        Offset at = log->log_start_offset();
        while (!stop) {
          const auto found = log->read(at, 3'000, log->log_end_offset(), true);
          if (!found) {
            ASSERT_EQ(found.error().kind, ErrorKind::out_of_range) << found.error().message;
            break;
          }
          if (found->slice.length == 0) break;
          std::vector<std::byte> bytes(found->slice.length);
          ASSERT_EQ(found->slice.file->read_at(bytes, found->slice.position).value_or(0), bytes.size());
          protocol::BatchIterator iterator(bytes);
          while (iterator.next() == protocol::BatchIterator::Step::batch) {
            ASSERT_TRUE(iterator.batch().verify_crc());
            ASSERT_GE(iterator.batch().last_offset(), at);
            at = iterator.batch().next_offset();
          }
          ASSERT_EQ(iterator.remaining().size(), 0u);
          ASSERT_GE(found->next_offset, at);
          at = found->next_offset;
        }
        ASSERT_TRUE(log->aborted_transactions(Offset{0}, log->log_end_offset()));
        ASSERT_TRUE(log->offset_for_timestamp(node.wall));
      }
    });
  threads.emplace_back([&] {
    Instant now{};
    while (!stop) node->tick(now += std::chrono::minutes(6), node.wall);
  });
  threads.emplace_back([&] {
    while (!all_written) {
      cleaner.abort_and_pause(partition("t0"));
      cleaner.resume(partition("t0"));
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  });
  std::vector<std::thread> writers;
  for (const auto& log : logs)
    writers.emplace_back([&, log] {
      for (int i = 0; i < 1'500; ++i) {
        const std::string key = "key " + std::to_string(i % 40), value(100, '.');
        auto batch = protocol::single_record_batch(node.wall, as_byte_view(key), as_byte_view(value));
        ASSERT_TRUE(log->append_as_leader(batch, LeaderEpoch{0}, node.wall));
        if (i % 300 == 0) log->flush().value();
      }
    });
  for (std::thread& thread : writers) thread.join();
  all_written = true;
  // What is written now is neither deleted before it is cleaned nor interrupted again and again.
  LogConfig config = node.config;
  config.cleanup_delete = false;
  // Else a pass in the middle of put() may leave a rest that is too small to be worth another one.
  config.min_cleanable_dirty_ratio = 0;
  for (const auto& log : logs) {
    log->set_config(std::make_shared<LogConfig>(config));
    put(*log, 100);
  }
  EXPECT_TRUE(eventually([&] {
    return std::ranges::all_of(logs,
                               [](const auto& log) { return log->cleaned_to() == log->log_end_offset(); });
  }));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  cleaner.stop();
  EXPECT_TRUE(cleaner.uncleanable().empty());
  logs.clear();
  ASSERT_TRUE(node.stop());
}

TEST(IoThrottle, waits_as_long_as_the_rate_asks_and_saves_nothing_up) {
  IoThrottle throttle(1'000);
  Instant now = Instant{} + std::chrono::hours(1);
  EXPECT_EQ(throttle.charge(500, now), std::chrono::milliseconds(500));
  EXPECT_EQ(throttle.charge(500, now), std::chrono::milliseconds(1'000));
  now += std::chrono::hours(1);
  EXPECT_EQ(throttle.charge(1, now), std::chrono::milliseconds(1));
  EXPECT_LT(IoThrottle(std::numeric_limits<double>::max()).charge(1 << 30, now),
            std::chrono::microseconds(1));
}

}  // namespace
}  // namespace barnabas::storage
