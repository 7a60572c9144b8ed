#include "storage/log_manager.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include "storage/log_manager_test_support.h"
#include "storage/partition_directory.h"

namespace barnabas::storage {
namespace {

using std::chrono::milliseconds;

class LogManagerTest : public testing::Test {
 protected:
  LogManagerTest() {
    node_.options.on_offline = [this](const LogDirectory& directory,
                                      const std::vector<TopicPartition>& lost) {
      offline_.push_back(directory.path);
      for (const TopicPartition& name : lost) lost_.insert(name.to_string());
    };
  }

  void start() {
    const auto started = node_.start();
    ASSERT_TRUE(started) << started.error().message;
    summary_ = *started;
  }
  std::shared_ptr<Log> create(const TopicPartition& name, Uuid topic_id = Uuid::random()) {
    auto made = node_->create(name, {.topic_id = topic_id, .directory_id = {}}, node_.wall);
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(nullptr);
  }
  void add(const TopicPartition& name, const std::string& value) {
    const auto appended = append(*node_->get(name).value(), value, node_.wall);
    ASSERT_TRUE(appended) << appended.error().message;
  }
  std::vector<std::string> values(const TopicPartition& name) { return values_of(*node_->get(name).value()); }
  ErrorKind kind(const auto& result) { return result ? ErrorKind::closed : result.error().kind; }
  bool exists(const std::string& path) { return disk_.exists(path).value(); }
  std::vector<std::string> names_in(const std::string& directory) {
    std::vector<std::string> names;
    const auto listed = disk_.list(directory).value();
    for (const auto& entry : listed) names.push_back(entry.name);
    return names;
  }
  std::size_t directories_of_kind(const std::string& directory, DirectoryKind wanted) {
    std::size_t count = 0;
    for (const std::string& name : names_in(directory)) count += parse_directory_name(name).kind == wanted;
    return count;
  }

  io::FakeDisk disk_;
  NodeStorage node_{disk_, {"/a", "/b"}};
  LoadSummary summary_;
  std::vector<std::string> offline_;
  std::set<std::string> lost_;
};

// --- creating and loading ----------------------------------------------------------------------------------

TEST_F(LogManagerTest, partitions_go_where_the_fewest_are) {
  start();
  for (int i = 0; i < 6; ++i) create(partition("topic", i));
  EXPECT_TRUE(exists("/a/topic-0") && exists("/b/topic-1") && exists("/a/topic-2") && exists("/b/topic-5"));
  const Uuid second = node_->usable_directories().at(1);
  ASSERT_TRUE(
      node_->create(partition("named"), {.topic_id = Uuid::random(), .directory_id = second}, node_.wall));
  EXPECT_TRUE(exists("/b/named-0"));
  EXPECT_EQ(node_->directory_of(partition("named")), second);
  EXPECT_EQ(kind(node_->create(partition("x"), {.topic_id = {}, .directory_id = Uuid::random()}, node_.wall)),
            ErrorKind::not_found);
  EXPECT_EQ(kind(node_->get(partition("x"))), ErrorKind::not_found);
}

TEST_F(LogManagerTest, creating_again_gives_the_log_there_is) {
  start();
  const Uuid id = Uuid::random();
  const auto first = create(partition("topic"), id);
  EXPECT_EQ(create(partition("topic"), id), first);
  EXPECT_EQ(
      kind(node_->create(partition("topic"), {.topic_id = Uuid::random(), .directory_id = {}}, node_.wall)),
      ErrorKind::already_exists);
}

TEST_F(LogManagerTest, one_log_is_made_when_several_threads_want_it) {
  start();
  const Uuid id = Uuid::random();
  std::vector<std::shared_ptr<Log>> made(4);
  {
    std::vector<std::jthread> threads;
    for (auto& log : made) threads.emplace_back([&] { log = create(partition("topic"), id); });
  }
  for (const auto& log : made) EXPECT_EQ(log, made[0]);
  EXPECT_EQ(node_->all().size(), 1U);
}

TEST_F(LogManagerTest, a_clean_stop_needs_no_scan) {
  start();
  for (int i = 0; i < 4; ++i) {
    create(partition("a-b", i));
    add(partition("a-b", i), "one");
    add(partition("a-b", i), "two");
  }
  const auto stopped = node_.stop(BrokerEpoch{7});
  ASSERT_TRUE(stopped) << stopped.error().message;
  disk_.power_cut();
  start();
  EXPECT_EQ(summary_.logs, 4U);
  EXPECT_EQ(summary_.recovered, 0U);
  EXPECT_EQ(node_->previous_broker_epoch(), BrokerEpoch{7});
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(values(partition("a-b", i)), (std::vector<std::string>{"one", "two"}));
  EXPECT_FALSE(exists("/a/.kafka_cleanshutdown"));
}

TEST_F(LogManagerTest, a_crash_needs_a_scan_and_loses_nothing_that_was_written) {
  start();
  create(partition("topic"));
  add(partition("topic"), "one");
  node_.crash();
  start();
  EXPECT_EQ(summary_.recovered, 1U);
  EXPECT_EQ(node_->previous_broker_epoch(), BrokerEpoch{-1});
  EXPECT_EQ(values(partition("topic")), std::vector<std::string>{"one"});
}

TEST_F(LogManagerTest, a_creation_survives_a_power_cut_once_something_was_flushed) {
  start();
  create(partition("topic"));
  add(partition("topic"), "one");
  ASSERT_TRUE(node_->get(partition("topic")).value()->flush());
  node_.crash();
  disk_.power_cut();
  start();
  EXPECT_EQ(values(partition("topic")), std::vector<std::string>{"one"});
}

TEST_F(LogManagerTest, a_topic_id_that_a_power_cut_spoilt_is_written_again) {
  const Uuid id = Uuid::random();
  for (const std::string& spoilt :
       {std::string(43, '\0'), std::string(), std::string("version: 0\ntopic_id: cut")}) {
    start();
    create(partition("topic"), id);
    ASSERT_TRUE(node_->get(partition("topic")).value()->flush());
    node_.crash();
    disk_.put_file("/a/topic-0/partition.metadata", spoilt);
    start();
    EXPECT_EQ(create(partition("topic"), id)->topic_id().value(), id);
    EXPECT_TRUE(offline_.empty());
    node_.crash();
  }
}

TEST_F(LogManagerTest, what_is_no_partition_of_ours_is_left_alone) {
  start();
  node_.crash();
  disk_.put_file("/a/lost+found/x", "x");
  disk_.put_file("/a/notes.txt", "x");
  disk_.put_file("/a/t-0.0123456789abcdef0123456789abcdef-stray/x", "x");
  disk_.put_file("/a/__cluster_metadata-0/00000000000000000000.log", "whatever");
  start();
  EXPECT_EQ(summary_.logs, 0U);
  EXPECT_EQ(summary_.ignored.size(), 2U);
  EXPECT_EQ(disk_.content("/a/notes.txt"), "x");
  EXPECT_EQ(disk_.content("/a/__cluster_metadata-0/00000000000000000000.log"), "whatever");
}

TEST_F(LogManagerTest, of_one_partition_in_two_directories_the_one_that_the_metadata_mean_stays) {
  start();
  const Uuid first_id = Uuid::random(), second_id = Uuid::random();
  create(partition("topic"), first_id);
  node_.crash();
  disk_.put_file("/b/topic-0/partition.metadata", "version: 0\ntopic_id: " + second_id.to_string());
  const auto resolve = [&](Assignment assignment) {
    start();
    return node_->resolve_doubles([=](const TopicPartition&) { return assignment; });
  };
  const auto undecided = resolve({Uuid::random(), Uuid{}});
  ASSERT_FALSE(undecided);
  EXPECT_EQ(undecided.error().message, "two logs of topic-0: in /a and in /b. Move one of them away");
  node_.crash();
  ASSERT_TRUE(resolve({second_id, Uuid{}}));
  EXPECT_EQ(node_->path_of(partition("topic")), "/b");
  node_.crash();
  ASSERT_TRUE(resolve({first_id, Uuid{}})) << "the other one was set aside";
  EXPECT_EQ(node_->path_of(partition("topic")), "/b");
}

TEST_F(LogManagerTest, topics_get_their_own_settings) {
  node_.options.config_of = [](const std::string& topic) {
    auto config = std::make_shared<LogConfig>();
    config->retention_ms = topic == "short" ? 1 : 1000;
    return config;
  };
  start();
  create(partition("short"));
  create(partition("long"));
  node_.crash();
  start();
  EXPECT_EQ(node_->get(partition("short")).value()->config()->retention_ms, 1);
  EXPECT_EQ(node_->get(partition("long")).value()->config()->retention_ms, 1000);
}

// --- deleting ----------------------------------------------------------------------------------------------

TEST_F(LogManagerTest, a_deleted_name_can_come_back_while_the_old_files_are_there) {
  node_.config.file_delete_delay_ms = 1000;
  start();
  const auto old = create(partition("topic"));
  add(partition("topic"), "old");
  ASSERT_TRUE(node_->remove(partition("topic"), node_.now));
  EXPECT_EQ(kind(node_->get(partition("topic"))), ErrorKind::not_found);
  EXPECT_FALSE(append(*old, "late", node_.wall));
  create(partition("topic"));
  add(partition("topic"), "new");
  EXPECT_EQ(values(partition("topic")), std::vector<std::string>{"new"});

  EXPECT_EQ(directories_of_kind("/a", DirectoryKind::deleted), 1U);
  node_->tick(node_.now, node_.wall);
  EXPECT_EQ(directories_of_kind("/a", DirectoryKind::deleted), 1U);
  const Instant next = node_->tick(node_.now + milliseconds(999), node_.wall);
  EXPECT_LE(next, node_.now + milliseconds(1000));
  node_->tick(node_.now + milliseconds(1000), node_.wall);
  EXPECT_EQ(directories_of_kind("/a", DirectoryKind::deleted), 0U);
  EXPECT_EQ(values(partition("topic")), std::vector<std::string>{"new"});
}

TEST_F(LogManagerTest, an_acknowledged_deletion_survives_a_power_cut_and_is_finished_later) {
  start();
  create(partition("topic"));
  ASSERT_TRUE(node_->remove(partition("topic"), node_.now));
  node_.crash();
  disk_.power_cut();
  start();
  EXPECT_EQ(summary_.logs, 0U);
  EXPECT_EQ(summary_.deletions, 1U);
  node_->tick(node_.now, node_.wall);
  EXPECT_EQ(directories_of_kind("/a", DirectoryKind::deleted), 0U);
}

TEST_F(LogManagerTest, a_whole_topic_is_deleted_with_one_sync_for_each_directory) {
  start();
  std::vector<TopicPartition> names;
  for (int i = 0; i < 10; ++i) {
    names.push_back(partition("topic", i));
    create(names.back());
  }
  names.push_back(partition("not-there"));
  disk_.reset_counters();
  EXPECT_EQ(kind(node_->remove(names, node_.now)), ErrorKind::not_found);
  EXPECT_EQ(disk_.calls(io::DiskCall::sync_directory), 2U);
  EXPECT_TRUE(node_->all().empty());
  node_.crash();
  disk_.power_cut();
  start();
  EXPECT_EQ(summary_.logs, 0U);
}

TEST_F(LogManagerTest, a_log_that_was_set_aside_is_kept_and_never_loaded) {
  start();
  create(partition("topic"));
  add(partition("topic"), "kept");
  ASSERT_TRUE(node_->set_aside(partition("topic")));
  node_.crash();
  start();
  EXPECT_EQ(summary_.logs, 0U);
  EXPECT_EQ(directories_of_kind("/a", DirectoryKind::stray), 1U);
  node_->tick(node_.now + std::chrono::hours(1000), node_.wall);
  EXPECT_EQ(directories_of_kind("/a", DirectoryKind::stray), 1U);
}

// --- failing directories -----------------------------------------------------------------------------------

TEST_F(LogManagerTest, a_dead_directory_takes_its_partitions_with_it_and_no_others) {
  start();
  for (int i = 0; i < 4; ++i) create(partition("topic", i));
  disk_.add_fault({.path_part = "/b/", .for_good = true});
  const auto failed = append(*node_->get(partition("topic", 1)).value(), "x", node_.wall);
  ASSERT_FALSE(failed);
  node_->report(partition("topic", 1), failed.error());
  EXPECT_EQ(offline_, std::vector<std::string>{"/b"});
  EXPECT_EQ(lost_, (std::set<std::string>{"topic-1", "topic-3"}));
  EXPECT_EQ(kind(node_->get(partition("topic", 1))), ErrorKind::offline);
  EXPECT_EQ(kind(node_->create(partition("topic", 1), {.topic_id = {}, .directory_id = {}}, node_.wall)),
            ErrorKind::offline);
  add(partition("topic", 0), "still here");
  EXPECT_TRUE(node_->get(partition("topic", 0)).value()->flush());
  EXPECT_TRUE(create(partition("new")) != nullptr);
  EXPECT_TRUE(exists("/a/new-0"));
  EXPECT_EQ(kind(node_->create(partition("old"), {.topic_id = {}, .directory_id = {}, .is_new = false},
                               node_.wall)),
            ErrorKind::offline);
  EXPECT_EQ(node_->usable_directories().size(), 1U);
  const auto described = node_->describe();
  EXPECT_FALSE(described[0].failure);
  EXPECT_EQ(described[0].partitions.size(), 3U);
  EXPECT_EQ(described[1].failure->system_error, EIO);
  EXPECT_TRUE(described[1].partitions.empty());
}

TEST_F(LogManagerTest, only_failures_of_the_device_take_a_directory_offline) {
  start();
  create(partition("topic"));
  node_->report(partition("topic"), Error{ErrorKind::no_space, "full", ENOSPC});
  node_->report(partition("topic"), Error{ErrorKind::out_of_range, "no such offset"});
  node_->report(partition("other"), Error{ErrorKind::io, "whose?", EIO});
  EXPECT_TRUE(offline_.empty());
  node_->report(partition("topic"), Error{ErrorKind::io, "broken", EIO});
  node_->report_directory("/a", Error{ErrorKind::io, "broken", EIO});
  EXPECT_EQ(offline_, std::vector<std::string>{"/a"});
}

TEST_F(LogManagerTest, a_directory_that_cannot_be_read_at_start_is_offline_and_the_rest_serves) {
  start();
  for (int i = 0; i < 4; ++i) create(partition("topic", i));
  node_.crash();
  disk_.add_fault({.path_part = "/b/topic-3", .for_good = true});
  start();
  EXPECT_EQ(summary_.logs, 2U);
  EXPECT_EQ(offline_, std::vector<std::string>{"/b"});
  EXPECT_EQ(lost_, (std::set<std::string>{"topic-1", "topic-3"}));
  EXPECT_EQ(kind(node_->get(partition("topic", 1))), ErrorKind::offline);
  add(partition("topic", 0), "x");
}

TEST_F(LogManagerTest, the_start_fails_only_when_no_directory_is_left) {
  start();
  create(partition("topic", 0));
  create(partition("topic", 1));
  node_.crash();
  disk_.add_fault({.path_part = "/a/topic-0", .for_good = true});
  disk_.add_fault({.path_part = "/b/topic-1", .for_good = true});
  const auto started = node_.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().kind, ErrorKind::offline);
}

TEST_F(LogManagerTest, a_read_only_directory_goes_offline_when_it_is_written) {
  start();
  create(partition("topic", 0));
  create(partition("topic", 1));
  disk_.set_read_only("/b", true);
  node_->write_checkpoints();
  EXPECT_EQ(offline_, std::vector<std::string>{"/b"});
  add(partition("topic", 0), "x");
}

TEST_F(LogManagerTest, a_directory_that_has_vanished_is_offline) {
  start();
  create(partition("topic", 0));
  create(partition("topic", 1));
  ASSERT_TRUE(disk_.remove_tree("/b"));
  node_->write_checkpoints();
  EXPECT_EQ(offline_, std::vector<std::string>{"/b"});
  add(partition("topic", 0), "x");
}

TEST_F(LogManagerTest, a_full_disk_takes_nothing_offline) {
  start();
  create(partition("topic"));
  disk_.add_fault({.call = io::DiskCall::write, .path_part = "checkpoint", .system_error = ENOSPC});
  node_->write_checkpoints();
  EXPECT_TRUE(offline_.empty());
  EXPECT_EQ(
      kind(node_->create(partition("other"), {.topic_id = Uuid::random(), .directory_id = {}}, node_.wall)),
      ErrorKind::closed);
}

TEST_F(LogManagerTest, a_full_disk_does_not_stop_a_start_after_a_crash) {
  node_.config.index_interval_bytes = 0;
  start();
  for (int i = 0; i < 3; ++i) {
    create(partition("topic", i));
    for (int k = 0; k < 20; ++k) add(partition("topic", i), std::string(100, 'x'));
  }
  node_.crash();
  disk_.set_capacity(1);
  start();
  EXPECT_EQ(summary_.logs, 3U);
  EXPECT_TRUE(offline_.empty());
  EXPECT_EQ(values(partition("topic", 0)).size(), 20U);
  EXPECT_EQ(append(*node_->get(partition("topic", 0)).value(), "more", node_.wall).error().kind,
            ErrorKind::no_space);
  disk_.set_capacity(uint64_t{1} << 30);
  add(partition("topic", 0), "more");
  EXPECT_TRUE(node_.stop());
}

TEST_F(LogManagerTest, a_directory_that_fails_at_the_stop_is_not_marked_clean_and_the_other_is) {
  start();
  for (int i = 0; i < 2; ++i) {
    create(partition("topic", i));
    add(partition("topic", i), "x");
  }
  disk_.add_fault({.call = io::DiskCall::sync_data, .path_part = "/b/topic-1/"});
  EXPECT_FALSE(node_.stop());
  EXPECT_EQ(offline_, std::vector<std::string>{"/b"});
  EXPECT_TRUE(exists("/a/.kafka_cleanshutdown"));
  EXPECT_FALSE(exists("/b/.kafka_cleanshutdown"));
}

// --- checkpoints and periodic work -------------------------------------------------------------------------

TEST_F(LogManagerTest, high_watermarks_are_checkpointed_and_those_nobody_knows_are_kept) {
  start();
  create(partition("known"));
  create(partition("unknown"));
  node_->set_high_watermark_source([](const TopicPartition& name) -> std::optional<Offset> {
    return name.topic == "known" ? Offset{17} : Offset{4};
  });
  node_->write_checkpoints();
  node_.crash();
  start();
  EXPECT_EQ(node_->checkpointed_high_watermark(partition("known")), Offset{17});
  node_->set_high_watermark_source([](const TopicPartition& name) {
    return name.topic == "known" ? std::optional(Offset{18}) : std::nullopt;
  });
  node_->write_checkpoints();
  node_.crash();
  start();
  EXPECT_EQ(node_->checkpointed_high_watermark(partition("known")), Offset{18});
  EXPECT_EQ(node_->checkpointed_high_watermark(partition("unknown")), Offset{4});
  EXPECT_EQ(node_->checkpointed_high_watermark(partition("other")), Offset{0});
}

TEST_F(LogManagerTest, a_partition_that_comes_back_does_not_inherit_a_high_watermark) {
  start();
  create(partition("topic"));
  node_->set_high_watermark_source([](const TopicPartition&) { return Offset{17}; });
  node_->write_checkpoints();
  node_.crash();
  start();
  ASSERT_TRUE(node_->remove(partition("topic"), node_.now));
  create(partition("topic"));
  EXPECT_EQ(node_->checkpointed_high_watermark(partition("topic")), Offset{0});
}

TEST_F(LogManagerTest, a_partition_that_comes_back_does_not_inherit_a_log_start_through_a_power_cut) {
  start();
  create(partition("topic"));
  for (const char* value : {"0", "1", "2"}) add(partition("topic"), value);
  ASSERT_TRUE(node_->get(partition("topic")).value()->delete_records_before(Offset{2}));
  node_->write_checkpoints();
  ASSERT_TRUE(node_->remove(partition("topic"), node_.now));
  create(partition("topic"));
  add(partition("topic"), "new");
  ASSERT_TRUE(node_->get(partition("topic")).value()->flush());
  node_.crash();
  disk_.power_cut();
  start();
  EXPECT_EQ(values(partition("topic")), std::vector<std::string>{"new"});
}

TEST_F(LogManagerTest, the_log_start_survives_through_its_checkpoint) {
  start();
  create(partition("topic"));
  for (const char* value : {"0", "1", "2", "3"}) add(partition("topic"), value);
  ASSERT_TRUE(node_->get(partition("topic")).value()->delete_records_before(Offset{2}));
  node_->tick(node_.now, node_.wall);
  node_->tick(node_.now + milliseconds(60'000), node_.wall);
  node_.crash();
  start();
  EXPECT_EQ(node_->get(partition("topic")).value()->log_start_offset(), Offset{2});
  EXPECT_EQ(values(partition("topic")), (std::vector<std::string>{"2", "3"}));
}

TEST_F(LogManagerTest, retention_deletes_segments_and_their_files_follow_after_the_delay) {
  node_.config.segment_bytes = 200;
  node_.config.retention_bytes = 400;
  node_.config.file_delete_delay_ms = 1000;
  node_.options.retention_interval = milliseconds(100);
  start();
  create(partition("topic"));
  for (int i = 0; i < 20; ++i) add(partition("topic"), std::string(50, 'x'));
  node_->set_high_watermark_source([](const TopicPartition&) { return Offset{20}; });
  node_->tick(node_.now, node_.wall);
  const std::size_t files = names_in("/a/topic-0").size();
  node_->tick(node_.now + milliseconds(100), node_.wall);
  EXPECT_GT(node_->get(partition("topic")).value()->log_start_offset(), Offset{10});
  EXPECT_GT(names_in("/a/topic-0").size(), files / 2);
  node_->tick(node_.now + milliseconds(1100), node_.wall);
  EXPECT_LT(names_in("/a/topic-0").size(), files / 2);
}

TEST_F(LogManagerTest, nothing_above_the_high_watermark_is_deleted) {
  node_.config.segment_bytes = 200;
  node_.config.retention_bytes = 0;
  node_.options.retention_interval = milliseconds(100);
  start();
  create(partition("topic"));
  for (int i = 0; i < 20; ++i) add(partition("topic"), std::string(50, 'x'));
  node_->set_high_watermark_source([](const TopicPartition&) { return Offset{5}; });
  node_->tick(node_.now, node_.wall);
  node_->tick(node_.now + milliseconds(100), node_.wall);
  EXPECT_LE(node_->get(partition("topic")).value()->log_start_offset(), Offset{5});
}

TEST_F(LogManagerTest, damaged_checkpoint_files_cost_a_longer_scan_only) {
  start();
  create(partition("topic"));
  add(partition("topic"), "one");
  node_.crash();
  for (const auto name :
       {recovery_point_offset_checkpoint, log_start_offset_checkpoint, replication_offset_checkpoint})
    disk_.put_file("/a/" + std::string(name), "0\n1\ntopic zero 0\n");
  start();
  EXPECT_EQ(values(partition("topic")), std::vector<std::string>{"one"});
  EXPECT_TRUE(offline_.empty());
}

TEST_F(LogManagerTest, unchanged_checkpoints_are_not_written_again) {
  start();
  create(partition("topic"));
  node_->write_checkpoints();
  disk_.reset_counters();
  node_->write_checkpoints();
  EXPECT_EQ(disk_.calls(), 0U);
}

TEST_F(LogManagerTest, a_round_of_checkpoints_looks_at_no_log_while_none_has_moved) {
  node_.options.retention_interval = std::chrono::hours(1);
  start();
  constexpr int logs = 100;
  for (int i = 0; i < logs; ++i) create(partition("t", i));
  int asked = 0;
  node_->set_high_watermark_source([&](const TopicPartition&) {
    ++asked;
    return std::optional(Offset{0});
  });
  // A minute is enough for every kind of checkpoint.
  const auto a_minute = [&] {
    asked = 0;
    disk_.reset_counters();
    for (int i = 0; i < 13; ++i) node_->tick(node_.now += milliseconds(5'000), node_.wall);
    return asked;
  };
  EXPECT_EQ(a_minute(), logs) << "once, since they are new";
  EXPECT_EQ(a_minute(), 0);
  EXPECT_EQ(disk_.calls(), 0u) << "an idle node leaves its disk alone";
  ASSERT_TRUE(append(*node_->get(partition("t", 7)).value(), "x", node_.wall));
  EXPECT_EQ(a_minute(), logs);
  EXPECT_EQ(a_minute(), 0);
  node_->get(partition("t", 8)).value()->note_high_watermark();
  EXPECT_EQ(a_minute(), logs);
  ASSERT_TRUE(node_->remove(partition("t", 9), node_.now));
  EXPECT_EQ(a_minute(), logs - 1);
  EXPECT_EQ(a_minute(), 0);
}

TEST_F(LogManagerTest, a_checkpoint_that_could_not_be_written_is_tried_again) {
  start();
  create(partition("t", 0));
  disk_.add_fault(
      {.call = io::DiskCall::write, .path_part = "replication-offset-checkpoint", .system_error = 28});
  node_->set_high_watermark_source([](const TopicPartition&) { return std::optional(Offset{5}); });
  for (int i = 0; i < 4; ++i) node_->tick(node_.now += milliseconds(5'000), node_.wall);
  EXPECT_FALSE(disk_.fault_pending());
  EXPECT_NE(disk_.content("/a/replication-offset-checkpoint").value_or("").find("t 0 5"), std::string::npos);
}

TEST_F(LogManagerTest, log_starts_that_were_moved_are_durable_at_the_price_of_one_file) {
  start();
  for (int i = 0; i < 50; ++i) create(partition("t", i));
  for (const int moved : {3, 4}) {
    const auto log = node_->get(partition("t", moved)).value();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(append(*log, "x", node_.wall));
    ASSERT_TRUE(log->flush());
    ASSERT_TRUE(log->delete_records_before(Offset{moved}));
    disk_.reset_counters();
    const TopicPartition name = partition("t", moved);
    node_->checkpoint_log_starts(std::span(&name, 1));
    EXPECT_EQ(disk_.calls(io::DiskCall::rename), 1u);
    EXPECT_LT(disk_.calls(), 10u);
  }
  node_.crash();
  disk_.power_cut();
  start();
  EXPECT_EQ(node_->get(partition("t", 3)).value()->log_start_offset(), Offset{3});
  EXPECT_EQ(node_->get(partition("t", 4)).value()->log_start_offset(), Offset{4});
}

TEST_F(LogManagerTest, flushes_are_done_when_the_topic_wants_them) {
  node_.config.flush_ms = 1000;
  node_.options.flush_interval = milliseconds(500);
  start();
  create(partition("topic"));
  add(partition("topic"), "x");
  node_->tick(node_.now, node_.wall);
  node_->tick(node_.now + milliseconds(500), node_.wall + 500);
  EXPECT_EQ(node_->get(partition("topic")).value()->recovery_point(), Offset{0});
  node_->tick(node_.now + milliseconds(1000), node_.wall + 1000);
  EXPECT_EQ(node_->get(partition("topic")).value()->recovery_point(), Offset{1});
}

}  // namespace
}  // namespace barnabas::storage
