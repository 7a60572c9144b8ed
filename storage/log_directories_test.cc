#include "storage/log_directories.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "io/fake_disk.h"
#include "storage/clean_shutdown.h"
#include "storage/meta_properties.h"

namespace barnabas::storage {
namespace {

class LogDirectoriesTest : public testing::Test {
 protected:
  LogDirectoriesOptions options(std::vector<std::string> paths, bool format = false) {
    LogDirectoriesOptions options;
    options.paths = std::move(paths);
    options.node_id = NodeId{1};
    options.format = format;
    return options;
  }

  void put(const std::string& directory, const std::string& cluster_id, int32_t node_id,
           Uuid id = Uuid::random()) {
    disk_.put_file(directory + "/meta.properties", format_meta_properties({cluster_id, NodeId{node_id}, id}));
  }

  std::string refusal(const LogDirectoriesOptions& asked) {
    const auto opened = open_log_directories(disk_, asked);
    return opened ? "opened" : opened.error().message;
  }

  io::FakeDisk disk_;
};

TEST_F(LogDirectoriesTest, fresh_ones_are_formatted_on_request_and_keep_their_ids) {
  Uuid first;
  std::string cluster_id;
  {
    const auto made = open_log_directories(disk_, options({"/a/b/data", "/c"}, true));
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_EQ(made->directories.size(), 2U);
    first = made->directories[0].directory_id;
    cluster_id = made->cluster_id;
    EXPECT_FALSE(cluster_id.empty());
    EXPECT_NE(first, made->directories[1].directory_id);
    EXPECT_FALSE(made->directories[0].clean);
  }
  disk_.power_cut();
  const auto again = open_log_directories(disk_, options({"/a/b/data", "/c"}));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->cluster_id, cluster_id);
  EXPECT_EQ(again->directories[0].directory_id, first);
}

TEST_F(LogDirectoriesTest, formatting_fills_a_directory_before_it_is_ours) {
  FormatLogDirectoriesOptions asked;
  asked.paths = {"/a", "/b"};
  asked.node_id = NodeId{1};
  asked.cluster_id = "cluster";
  asked.fill = [](const std::string& path, const Uuid&) -> Result<void> {
    return path == "/a" ? Result<void>() : fail(ErrorKind::io, "no");
  };
  EXPECT_FALSE(format_log_directories(disk_, asked));
  EXPECT_FALSE(read_meta_properties(disk_, "/b").value().has_value());
  asked.fill = [](const std::string&, const Uuid&) { return Result<void>(); };
  auto made = format_log_directories(disk_, asked);
  ASSERT_FALSE(made);
  EXPECT_EQ(
      made.error().message,
      "Log directory /a is already formatted. Use --ignore-formatted to ignore this directory and format "
      "the others.");
  asked.ignore_formatted = true;
  made = format_log_directories(disk_, asked);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made, std::vector<std::string>{"/b"});
  disk_.power_cut();
  EXPECT_EQ(refusal(options({"/a", "/b"})), "opened");
  asked.cluster_id = "other";
  EXPECT_NE(
      format_log_directories(disk_, asked).error().message.find("cluster.id=cluster found, other expected"),
      std::string::npos);
}

TEST_F(LogDirectoriesTest, fresh_ones_without_the_request_are_refused_with_advice) {
  EXPECT_NE(refusal(options({"/data"}))
                .find("/data/meta.properties: not there. The log directories must be formatted"),
            std::string::npos);
  EXPECT_FALSE(disk_.content("/data/meta.properties"));
}

TEST_F(LogDirectoriesTest, a_fresh_one_beside_one_of_ours_joins_it) {
  put("/a", "cluster", 1);
  const auto opened = open_log_directories(disk_, options({"/a", "/b"}));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(read_meta_properties(disk_, "/b").value()->cluster_id, "cluster");
}

TEST_F(LogDirectoriesTest, a_directory_id_is_added_where_an_older_kafka_wrote_none) {
  put("/a", "cluster", 1, Uuid{});
  const auto opened = open_log_directories(disk_, options({"/a"}));
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->directories[0].directory_id.is_zero());
  EXPECT_EQ(read_meta_properties(disk_, "/a").value()->directory_id, opened->directories[0].directory_id);
}

TEST_F(LogDirectoriesTest, mismatches_are_refused_and_take_no_marker) {
  put("/a", "one", 1);
  put("/b", "two", 1);
  disk_.put_file("/a/.kafka_cleanshutdown", "{}");
  EXPECT_EQ(
      refusal(options({"/a", "/b"})),
      "/b/meta.properties: cluster.id=two found, one expected (as in /a). Take the directory of the other "
      "cluster out of log.dirs");
  LogDirectoriesOptions asked = options({"/a"});
  asked.cluster_id = "three";
  EXPECT_EQ(refusal(asked),
            "/a/meta.properties: cluster.id=one found, three expected (as in the configuration). Take the "
            "directory "
            "of the other cluster out of log.dirs");
  asked = options({"/a"});
  asked.node_id = NodeId{7};
  EXPECT_EQ(
      refusal(asked),
      "/a/meta.properties: node.id=1 found, 7 expected (node.id of the configuration). Set node.id to what "
      "the directory was made for, or use the directory of this node");
  const Uuid id = Uuid::random();
  put("/c", "one", 1, id);
  put("/d", "one", 1, id);
  EXPECT_EQ(refusal(options({"/c", "/d"})),
            "/d/meta.properties: directory.id=" + id.to_string() +
                " found, which is that of /c too: one is a copy. Take the copy "
                "out of log.dirs");
  EXPECT_TRUE(disk_.content("/a/.kafka_cleanshutdown"));
}

TEST_F(LogDirectoriesTest, data_without_meta_properties_is_not_taken_for_a_fresh_directory) {
  put("/a", "one", 1);
  for (const std::string name :
       {"topic-0", "__cluster_metadata-0", "t-0.0123456789abcdef0123456789abcdef-stray"}) {
    const std::string directory = "/of-" + name;
    disk_.put_file(directory + "/" + name + "/00000000000000000000.log", "whatever");
    EXPECT_TRUE(
        refusal(options({"/a", directory})).starts_with(directory + "/meta.properties: not there, but"))
        << name;
    EXPECT_FALSE(disk_.content(directory + "/meta.properties"));
  }
  disk_.put_file("/e/lost+found/x", "x");
  EXPECT_TRUE(open_log_directories(disk_, options({"/a", "/e"})));
}

TEST_F(LogDirectoriesTest, one_that_another_process_holds_is_refused) {
  put("/a", "cluster", 1);
  const auto held = disk_.lock("/a/.lock").value();
  EXPECT_NE(refusal(options({"/a"})).find("Log directory /a is in use"), std::string::npos);
}

TEST_F(LogDirectoriesTest, the_lock_is_held_until_the_directories_are_given_up) {
  put("/a", "cluster", 1);
  {
    const auto opened = open_log_directories(disk_, options({"/a", "/a/", "/./a"}));
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->directories.size(), 1U);
    EXPECT_FALSE(disk_.lock("/a/.lock"));
  }
  EXPECT_TRUE(disk_.lock("/a/.lock"));
}

TEST_F(LogDirectoriesTest, markers_are_taken_and_their_epoch_counts_only_if_all_agree) {
  put("/a", "cluster", 1);
  put("/b", "cluster", 1);
  disk_.put_file("/a/.kafka_cleanshutdown", format_clean_shutdown(BrokerEpoch{5}));
  disk_.put_file("/b/.kafka_cleanshutdown", format_clean_shutdown(BrokerEpoch{5}));
  {
    const auto opened = open_log_directories(disk_, options({"/a", "/b"}));
    EXPECT_TRUE(opened->directories[0].clean && opened->directories[1].clean);
    EXPECT_EQ(opened->previous_broker_epoch(), BrokerEpoch{5});
    EXPECT_FALSE(disk_.content("/a/.kafka_cleanshutdown"));
  }
  disk_.put_file("/a/.kafka_cleanshutdown", format_clean_shutdown(BrokerEpoch{6}));
  const auto opened = open_log_directories(disk_, options({"/a", "/b"}));
  EXPECT_TRUE(opened->directories[0].clean);
  EXPECT_FALSE(opened->directories[1].clean);
  EXPECT_EQ(opened->previous_broker_epoch(), BrokerEpoch{-1});
}

TEST_F(LogDirectoriesTest, a_failing_device_costs_its_directory_only) {
  put("/a", "cluster", 1);
  put("/b", "cluster", 1);
  disk_.add_fault({.path_part = "/a", .for_good = true});
  const auto opened = open_log_directories(disk_, options({"/a", "/b"}));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_FALSE(opened->directories[0].usable());
  EXPECT_EQ(opened->directories[0].failure->system_error, EIO);
  EXPECT_TRUE(opened->directories[1].usable());
  disk_.add_fault({.path_part = "/b", .for_good = true});
  EXPECT_NE(refusal(options({"/a", "/b"})).find("no log directory can be used"), std::string::npos);
}

TEST_F(LogDirectoriesTest, an_unreadable_identity_costs_its_directory_only) {
  put("/a", "cluster", 1);
  disk_.put_file("/b/meta.properties", "version=1\nnode.id=1\n");
  const auto opened = open_log_directories(disk_, options({"/a", "/b"}));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->directories[1].failure->kind, ErrorKind::corrupt);
  EXPECT_EQ(disk_.content("/b/meta.properties"), "version=1\nnode.id=1\n");
}

TEST_F(LogDirectoriesTest, a_read_only_directory_is_offline) {
  put("/a", "cluster", 1);
  put("/b", "cluster", 1);
  disk_.put_file("/b/.lock", "");
  disk_.put_file("/b/.kafka_cleanshutdown", "{}");
  disk_.set_read_only("/b", true);
  const auto opened = open_log_directories(disk_, options({"/a", "/b"}));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->directories[1].failure->system_error, EROFS);
  EXPECT_FALSE(opened->directories[1].directory_id.is_zero());
}

TEST_F(LogDirectoriesTest, formatting_that_is_cut_off_anywhere_can_be_done_again) {
  for (uint64_t n = 1; n < 60; ++n) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      io::FakeDisk disk;
      disk.power_off_at(n);
      const bool done = open_log_directories(disk, options({"/x/a", "/x/b"}, true)).has_value();
      disk.power_cut(io::Unsynced::partly_kept, seed);
      const auto again = open_log_directories(disk, options({"/x/a", "/x/b"}, !done));
      ASSERT_TRUE(again) << "call " << n << " seed " << seed << ": " << again.error().message;
      EXPECT_TRUE(again->directories[0].usable() && again->directories[1].usable());
    }
  }
}

}  // namespace
}  // namespace barnabas::storage
