// Every call to the disk fails once, at every point: nothing acknowledged is lost, nothing is half there, and
// a full disk is no end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "storage/file_checks.h"
#include "storage/log_fixture.h"

namespace barnabas::storage {
namespace {

using namespace test;

LogConfig small_segments() {
  LogConfig config;
  config.segment_bytes = 3 * static_cast<int32_t>(batch(1).size());
  config.index_interval_bytes = 0;
  config.retention_ms = -1;
  return config;
}

/// Lets call n = 1, 2, 3 … fail with `system_error` while `action` runs, until it gets through without
/// meeting the fault. `check` looks at the log after each.
void fail_each_call(int system_error, const std::function<void(TestLog&)>& prepare,
                    const std::function<bool(TestLog&)>& action,
                    const std::function<void(TestLog&, bool)>& check) {
  for (uint64_t n = 1; n < 500; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    TestLog log;
    log.config = small_segments();
    log.open();
    prepare(log);
    log.disk.reset_counters();
    log.disk.fail_call(n, system_error);
    const bool succeeded = action(log);
    const bool met = log.disk.calls() >= n;
    log.disk.clear_faults();
    check(log, succeeded);
    if (::testing::Test::HasFailure()) return;
    if (!met) return;
  }
  FAIL() << "never got through";
}

void fill(TestLog& log) {
  for (int i = 0; i < 8; ++i) log.append(batch(1));
}

TEST(LogFaults, a_failed_append_leaves_the_log_as_it_was) {
  for (int error : {ENOSPC, EIO}) {
    fail_each_call(
        error, fill, [](TestLog& log) { return log.try_append(batch(1)).has_value(); },
        [](TestLog& log, bool succeeded) {
          EXPECT_EQ(log.end(), Offset(succeeded ? 9 : 8));
          if (!log.log->broken()) {
            EXPECT_EQ(log.append(batch(1)).base_offset, Offset(succeeded ? 9 : 8));
          }
          const Offset end = log.end();
          EXPECT_EQ(log.read_all(Offset{0}, end).size(), static_cast<std::size_t>(end.value()));
          log.crash();
          EXPECT_EQ(log.end(), end);
          check_indexes(log.disk, TestLog::directory);
        });
  }
}

TEST(LogFaults, a_failed_roll_costs_nothing_but_the_append) {
  fail_each_call(
      ENOSPC,
      [](TestLog& log) {
        fill(log);
        log.append(batch(1));
      },
      [](TestLog& log) { return log.try_append(batch(1)).has_value(); },
      [](TestLog& log, bool succeeded) {
        EXPECT_EQ(log.end(), Offset(succeeded ? 10 : 9));
        EXPECT_FALSE(log.log->broken());
        log.append(batch(1));
        EXPECT_EQ(static_cast<int64_t>(log.offsets().size()), log.end().value());
        const Offset end = log.end();
        log.reopen();
        EXPECT_EQ(log.end(), end);
        check_indexes(log.disk, TestLog::directory);
      });
}

TEST(LogFaults, a_failed_sync_breaks_the_log_for_good_and_loses_nothing_that_was_durable) {
  fail_each_call(
      EIO,
      [](TestLog& log) {
        fill(log);
        log.flush();
        fill(log);
      },
      [](TestLog& log) { return log.log->flush().has_value(); },
      [](TestLog& log, bool succeeded) {
        EXPECT_EQ(log.log->broken(), !succeeded);
        if (!succeeded) {
          EXPECT_EQ(log.log->flush().error().kind, ErrorKind::offline);
          EXPECT_EQ(log.try_append(batch(1)).error().kind, ErrorKind::offline);
          EXPECT_EQ(log.log->recovery_point(), Offset{8});
          EXPECT_EQ(log.offsets().size(), 16u) << "reads go on";
        }
        log.lose_power();
        EXPECT_GE(log.end(), Offset(succeeded ? 16 : 8));
        EXPECT_EQ(static_cast<int64_t>(log.offsets().size()), log.end().value());
      });
}

TEST(LogFaults, an_opening_that_fails_can_be_repeated) {
  for (bool clean : {true, false}) {
    fail_each_call(
        EIO,
        [&](TestLog& log) {
          fill(log);
          for (int i = 0; i < 3; ++i) log.append(batch({.records = 1, .producer_id = 5, .sequence = i}));
          if (clean) {
            ASSERT_TRUE(log.log->close_clean());
          }
          log.checkpoint();
          log.log.reset();
        },
        [&](TestLog& log) { return log.try_open(clean).has_value(); },
        [&](TestLog& log, bool succeeded) {
          if (!succeeded) log.open();
          EXPECT_EQ(log.end(), Offset{11});
          EXPECT_EQ(log.offsets().size(), 11u);
          EXPECT_TRUE(log.append(batch({.records = 1, .producer_id = 5, .sequence = 2})).duplicate);
        });
  }
}

TEST(LogFaults, a_retention_that_fails_leaves_no_hole) {
  fail_each_call(
      EIO, fill,
      [](TestLog& log) {
        LogConfig config = log.config;
        config.retention_bytes = 0;
        log.log->set_config(std::make_shared<LogConfig>(config));
        return log.log->apply_retention(log.now, log.end()).has_value();
      },
      [](TestLog& log, bool) {
        log.crash();
        EXPECT_EQ(log.end(), Offset{8});
        EXPECT_EQ(static_cast<int64_t>(log.offsets().size()), log.end() - log.start());
      });
}

TEST(LogFaults, a_truncation_that_fails_breaks_the_log_and_leaves_no_hole) {
  fail_each_call(
      EIO, fill, [](TestLog& log) { return log.log->truncate_to(Offset{2}).has_value(); },
      [](TestLog& log, bool succeeded) {
        EXPECT_EQ(log.log->broken(), !succeeded);
        log.crash();
        EXPECT_GE(log.end(), Offset{2});
        EXPECT_EQ(static_cast<int64_t>(log.offsets().size()), log.end().value());
        check_indexes(log.disk, TestLog::directory);
      });
}

TEST(LogFaults, a_clean_stop_that_fails_is_no_clean_stop_but_loses_nothing) {
  fail_each_call(
      EIO, fill, [](TestLog& log) { return log.log->close_clean().has_value(); },
      [](TestLog& log, bool succeeded) {
        if (succeeded) log.checkpoint();
        log.open(/*clean=*/succeeded);
        EXPECT_EQ(log.end(), Offset{8});
        EXPECT_EQ(log.offsets().size(), 8u);
      });
}

TEST(LogFaults, a_full_disk_refuses_producers_and_serves_readers) {
  TestLog log;
  log.open();
  log.append(batch(3));
  const Bytes large = batch({.records = 1, .value_bytes = 10'000});
  log.disk.set_capacity(8'000);
  EXPECT_EQ(log.try_append(large).error().kind, ErrorKind::no_space);
  EXPECT_EQ(log.offsets().size(), 3u);
  EXPECT_EQ(log.flush(), Offset{3});
  log.disk.set_capacity(1 << 20);
  EXPECT_EQ(log.append(large).base_offset, Offset{3});
  log.crash();
  EXPECT_EQ(log.end(), Offset{4});
  EXPECT_TRUE(log.log->recovery().lossless());
}

TEST(LogFaults, a_full_disk_does_not_keep_a_log_from_opening) {
  TestLog log;
  log.config = small_segments();
  log.open();
  fill(log);
  log.append(batch({.records = 1, .producer_id = 5}));
  log.log.reset();
  log.disk.set_capacity(0);
  log.open();
  EXPECT_EQ(log.end(), Offset{9});
  EXPECT_EQ(log.offsets().size(), 9u);
  EXPECT_EQ(log.try_append(batch(1)).error().kind, ErrorKind::no_space);
  EXPECT_EQ(log.log->offset_for_timestamp(TimestampMs{1'000}).value()->offset, Offset{0});
  log.disk.set_capacity(1 << 20);
  EXPECT_TRUE(log.append(batch({.records = 1, .producer_id = 5})).duplicate);
  EXPECT_EQ(log.append(batch(1)).base_offset, Offset{9});
  log.reopen();
  EXPECT_EQ(log.end(), Offset{10});
  check_indexes(log.disk, TestLog::directory);
}

TEST(LogFaults, a_write_that_can_neither_succeed_nor_be_undone_breaks_the_log) {
  TestLog log;
  log.open();
  log.append(batch(3));
  log.disk.add_fault({.call = io::DiskCall::write, .path_part = ".log"});
  log.disk.add_fault({.call = io::DiskCall::truncate, .path_part = ".log"});
  EXPECT_FALSE(log.try_append(batch(1)));
  EXPECT_TRUE(log.log->broken());
  EXPECT_EQ(log.try_append(batch(1)).error().kind, ErrorKind::offline);
  EXPECT_EQ(log.offsets().size(), 3u);
}

}  // namespace
}  // namespace barnabas::storage
