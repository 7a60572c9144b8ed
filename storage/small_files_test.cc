#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "io/fake_disk.h"
#include "storage/checkpoint_file.h"
#include "storage/clean_shutdown.h"
#include "storage/meta_properties.h"
#include "storage/partition_directory.h"
#include "storage/periodic_schedule.h"

namespace barnabas::storage {
namespace {

// --- checkpoint files --------------------------------------------------------------------------------------

ErrorKind kind_of(const std::string& text) {
  const auto offsets = parse_offset_checkpoint(text);
  return offsets ? ErrorKind::closed : offsets.error().kind;
}

TEST(OffsetCheckpoint, is_read_and_written) {
  const auto offsets = parse_offset_checkpoint("0\n3\nb-c 1 7\na 10 0\na 2 9223372036854775807\n").value();
  EXPECT_EQ(offsets.size(), 3U);
  EXPECT_EQ(offsets.at({"b-c", PartitionIndex{1}}), Offset{7});
  EXPECT_EQ(format_offset_checkpoint(offsets), "0\n3\na 2 9223372036854775807\na 10 0\nb-c 1 7\n");
  EXPECT_EQ(format_offset_checkpoint({}), "0\n0\n");
}

TEST(OffsetCheckpoint, forgives_what_kafka_forgives) {
  EXPECT_EQ(parse_offset_checkpoint("").value().size(), 0U);
  EXPECT_EQ(parse_offset_checkpoint("0").value().size(), 0U);
  EXPECT_EQ(parse_offset_checkpoint("0\n").value().size(), 0U);
  EXPECT_EQ(parse_offset_checkpoint("0\n0").value().size(), 0U);
  EXPECT_EQ(parse_offset_checkpoint("0\n1\na 0 5").value().size(), 1U);
  EXPECT_EQ(parse_offset_checkpoint("0\r\n1\r\na 0 5\r\n").value().size(), 1U);
  EXPECT_EQ(parse_offset_checkpoint("0\n1\na \t 0  5 \n").value().size(), 1U);
  const auto twice = parse_offset_checkpoint("0\n2\na 0 5\na 0 6\n").value();
  EXPECT_EQ(twice.at({"a", PartitionIndex{0}}), Offset{6});
}

TEST(OffsetCheckpoint, refuses_everything_else) {
  EXPECT_EQ(kind_of("1\n0\n"), ErrorKind::unsupported);
  for (const char* text :
       {"x\n0\n", "\n0\n", "0\nx\n", "0\n-1\n", "0\n2\na 0 5\n", "0\n0\na 0 5\n", "0\n1\na 0\n",
        "0\n1\na 0 5 6\n", "0\n1\na x 5\n", "0\n1\na 0 x\n", "0\n1\na -1 5\n", "0\n1\na 0 -5\n", "0\n1\n\n",
        "0\n1\n a 0 5\n", "0\n1\na 0 9223372036854775808\n", "0\n1\na 2147483648 0\n", "0\n1\na 0 5\n\n"}) {
    EXPECT_EQ(kind_of(text), ErrorKind::corrupt) << text;
  }
}

TEST(OffsetCheckpoint, an_error_names_file_and_line) {
  io::FakeDisk disk;
  disk.put_file("/d/replication-offset-checkpoint", "0\n1\nnonsense\n");
  const auto offsets = read_offset_checkpoint(disk, "/d/replication-offset-checkpoint");
  ASSERT_FALSE(offsets);
  EXPECT_EQ(
      offsets.error().message,
      "/d/replication-offset-checkpoint: line 3: \"nonsense\" found, topic, partition and offset expected");
  EXPECT_EQ(read_offset_checkpoint(disk, "/d/other").value().size(), 0U);
}

// --- meta.properties ---------------------------------------------------------------------------------------

TEST(MetaProperties, of_apache_kafka_is_read) {
  const auto found =
      parse_meta_properties(
          "#\n#Sun Nov 29 14:45:07 UTC 2026\nnode.id=1\ndirectory.id=sb8lqIiYfn1gFx9jgBZ-mw\nversion=1\n"
          "cluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n")
          .value();
  EXPECT_EQ(found.cluster_id, "AAAAAAAAAAAAAAAAAAAAAQ");
  EXPECT_EQ(found.node_id, NodeId{1});
  EXPECT_EQ(found.directory_id.to_string(), "sb8lqIiYfn1gFx9jgBZ-mw");
}

TEST(MetaProperties, survives_writing_and_reading) {
  io::FakeDisk disk;
  ASSERT_TRUE(disk.create_directories("/d"));
  EXPECT_FALSE(read_meta_properties(disk, "/d").value());
  const MetaProperties written{"my cluster", NodeId{12}, Uuid::random()};
  ASSERT_TRUE(write_meta_properties(disk, "/d", written));
  EXPECT_EQ(read_meta_properties(disk, "/d").value(), written);
}

TEST(MetaProperties, the_directory_id_may_be_missing_and_other_keys_are_left_alone) {
  const auto found = parse_meta_properties("version=1\ncluster.id=c\nnode.id=0\nsomething.new=7\n").value();
  EXPECT_TRUE(found.directory_id.is_zero());
}

TEST(MetaProperties, errors_say_line_and_finding) {
  const auto message = [](std::string_view text) { return parse_meta_properties(text).error().message; };
  EXPECT_EQ(message("version=1\ncluster.id=c\nnode.id=x1\n"),
            "line 3: node.id=x1 found, a number from 0 on expected");
  EXPECT_EQ(message("version=1\ncluster.id=c\nnode.id=-2\n"),
            "line 3: node.id=-2 found, a number from 0 on expected");
  EXPECT_EQ(message("version=1\nnode.id=1\n"), "no line \"cluster.id=…\" found");
  EXPECT_EQ(message("version=1\ncluster.id=c\n"), "no line \"node.id=…\" found");
  EXPECT_EQ(message("cluster.id=c\nnode.id=1\n"), "no line \"version=…\" found");
  EXPECT_EQ(message("version=1\ncluster.id=c\nnode.id=1\ndirectory.id=short\n"),
            "line 4: directory.id=short found, a directory id expected");
  EXPECT_EQ(parse_meta_properties("version=0\ncluster.id=c\nbroker.id=1\n").error().kind,
            ErrorKind::unsupported);
  EXPECT_EQ(parse_meta_properties("version=\\u12").error().kind, ErrorKind::corrupt);
}

// --- the clean-shutdown marker -----------------------------------------------------------------------------

TEST(CleanShutdown, marker_is_written_once_and_taken_once) {
  io::FakeDisk disk;
  ASSERT_TRUE(disk.create_directories("/d"));
  ASSERT_TRUE(disk.sync_directory("/"));
  EXPECT_FALSE(take_clean_shutdown(disk, "/d").value());
  ASSERT_TRUE(write_clean_shutdown(disk, "/d", BrokerEpoch{42}));
  EXPECT_EQ(disk.content("/d/.kafka_cleanshutdown"), R"({"version":0,"brokerEpoch":42})");
  EXPECT_EQ(take_clean_shutdown(disk, "/d").value(), BrokerEpoch{42});
  disk.power_cut();
  EXPECT_FALSE(take_clean_shutdown(disk, "/d").value());
}

TEST(CleanShutdown, a_marker_with_odd_text_is_clean_with_an_unknown_epoch) {
  for (const char* text : {"", "{}", "[]", "{\"version\":1,\"brokerEpoch\":3}", "{\"version\":0}",
                           "{\"version\":0,", "{\"version\":0,\"brokerEpoch\":\"3\"}"}) {
    EXPECT_EQ(parse_clean_shutdown(text), BrokerEpoch{-1}) << text;
  }
  EXPECT_EQ(parse_clean_shutdown("{\"version\":0,\"brokerEpoch\":3,\"more\":1}"), BrokerEpoch{3});
  io::FakeDisk disk;
  disk.put_file("/d/.kafka_cleanshutdown", std::string(1 << 20, 'x'));
  EXPECT_EQ(take_clean_shutdown(disk, "/d").value(), BrokerEpoch{-1});
}

// --- directory names ---------------------------------------------------------------------------------------

std::string described(std::string_view name) {
  const PartitionDirectory parsed = parse_directory_name(name);
  switch (parsed.kind) {
    case DirectoryKind::partition:
      return parsed.name.topic + "/" + std::to_string(parsed.name.partition.value());
    case DirectoryKind::deleted:
      return "delete " + parsed.name.to_string();
    case DirectoryKind::future:
      return "future " + parsed.name.to_string();
    case DirectoryKind::stray:
      return "stray " + parsed.name.to_string();
    case DirectoryKind::metadata:
      return "metadata";
    case DirectoryKind::other:
      return "other";
  }
  return "";
}

constexpr std::string_view hex32 = "0123456789abcdef0123456789abcdef";

TEST(DirectoryName, the_partition_follows_the_last_dash) {
  EXPECT_EQ(described("topic-0"), "topic/0");
  EXPECT_EQ(described("a-b-c-12"), "a-b-c/12");
  EXPECT_EQ(described("a--3"), "a-/3");
  EXPECT_EQ(described("1-2"), "1/2");
  EXPECT_EQ(described("a.b_c-2147483647"), "a.b_c/2147483647");
  EXPECT_EQ(described("__consumer_offsets-49"), "__consumer_offsets/49");
  EXPECT_EQ(described("topic-delete-0"), "topic-delete/0");
  EXPECT_EQ(described(std::string(249, 'x') + "-0"), std::string(249, 'x') + "/0");
}

TEST(DirectoryName, marked_directories_are_known_by_their_suffix) {
  const std::string unique(hex32);
  EXPECT_EQ(described("a-b-1." + unique + "-delete"), "delete a-b-1");
  EXPECT_EQ(described("a-1." + unique + "-future"), "future a-1");
  EXPECT_EQ(described("a-1." + unique + "-stray"), "stray a-1");
  EXPECT_EQ(described("a-1." + unique + "-delete-0"), "a-1." + unique + "-delete/0");
  EXPECT_EQ(described("__cluster_metadata-0"), "metadata");
}

TEST(DirectoryName, all_else_is_left_alone) {
  for (const std::string name : {"",
                                 "-",
                                 "-0",
                                 "topic",
                                 "topic-",
                                 "topic-x",
                                 "topic-01",
                                 "topic-+1",
                                 "topic--",
                                 "..-0",
                                 ".-0",
                                 "a b-0",
                                 "a/b-0",
                                 "topic-2147483648",
                                 "lost+found",
                                 "a-1-delete",
                                 "a-1.12-delete",
                                 "a-1.0123456789ABCDEF0123456789ABCDEF-delete",
                                 "snapshots",
                                 "topic-0 "}) {
    EXPECT_EQ(described(name), "other") << name;
  }
  EXPECT_EQ(described(std::string(250, 'x') + "-0"), "other");
}

TEST(DirectoryName, marked_names_are_unique_short_enough_and_read_back) {
  const Uuid unique = Uuid::random();
  const std::string name = deleted_directory_name({"topic", PartitionIndex{3}}, unique);
  EXPECT_TRUE(name.starts_with("topic-3.") && name.ends_with("-delete")) << name;
  EXPECT_EQ(name.size(), std::string("topic-3.").size() + 32 + std::string("-delete").size());
  EXPECT_EQ(described(name), "delete topic-3");
  EXPECT_NE(name, deleted_directory_name({"topic", PartitionIndex{3}}, Uuid::random()));
  const std::string longest =
      stray_directory_name({std::string(249, 'x'), PartitionIndex{2147483647}}, unique);
  EXPECT_EQ(longest.size(), 255U);
  EXPECT_EQ(parse_directory_name(longest).kind, DirectoryKind::stray);
}

// --- the schedule ------------------------------------------------------------------------------------------

TEST(PeriodicSchedule, jobs_are_due_after_their_interval_and_late_ones_are_not_made_up_for) {
  using std::chrono::milliseconds;
  const Instant begin{};
  PeriodicSchedule schedule;
  schedule.add(PeriodicJob::retention, milliseconds(300), begin);
  schedule.add(PeriodicJob::recovery_point_checkpoint, milliseconds(100), begin);
  schedule.add(PeriodicJob::flush, milliseconds::max(), begin);
  EXPECT_EQ(schedule.next(), begin + milliseconds(100));
  EXPECT_TRUE(schedule.take_due(begin + milliseconds(99)).empty());
  EXPECT_EQ(schedule.take_due(begin + milliseconds(100)),
            std::vector{PeriodicJob::recovery_point_checkpoint});
  EXPECT_EQ(schedule.take_due(begin + milliseconds(1000)),
            (std::vector{PeriodicJob::retention, PeriodicJob::recovery_point_checkpoint}));
  EXPECT_TRUE(schedule.take_due(begin + milliseconds(1000)).empty());
  EXPECT_EQ(schedule.next(), begin + milliseconds(1100));
}

// --- what Apache Kafka left --------------------------------------------------------------------------------

TEST(SmallFiles, of_apache_kafka_are_read) {
  const std::string path = std::string(BARNABAS_SOURCE_DIR) + "/storage/testdata/log_dir.jsonl";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  int checkpoints = 0;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    const std::string name = json["path"];
    if (name.ends_with("offset-checkpoint")) {
      const auto offsets = parse_offset_checkpoint(json["text"].get<std::string>());
      EXPECT_TRUE(offsets) << name << ": " << offsets.error().message;
      ++checkpoints;
    } else if (name == "meta.properties") {
      EXPECT_TRUE(parse_meta_properties(json["text"].get<std::string>()));
    }
    if (const auto slash = name.find('/'); slash != std::string::npos) {
      const DirectoryKind kind = parse_directory_name(name.substr(0, slash)).kind;
      EXPECT_TRUE(kind == DirectoryKind::partition || kind == DirectoryKind::metadata) << name;
    }
  }
  EXPECT_EQ(checkpoints, 4);
}

// --- the pages that describe the formats -------------------------------------------------------------------

/// The block of a page that begins with "```<kind>".
std::string block_of_page(const std::string& page, const std::string& kind) {
  std::ifstream file(std::string(BARNABAS_SOURCE_DIR) + "/docs/formats/" + page);
  EXPECT_TRUE(file) << page;
  std::string block;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (inside && line == "```") return block;
    if (inside) block += line + "\n";
    if (line == "```" + kind) inside = true;
  }
  ADD_FAILURE() << page << " has no block " << kind;
  return block;
}

TEST(FormatPages, show_files_that_are_read_and_written_like_that) {
  const std::string checkpoint = block_of_page("checkpoint-files.md", "file");
  const auto offsets = parse_offset_checkpoint(checkpoint);
  ASSERT_TRUE(offsets) << offsets.error().message;
  EXPECT_EQ(format_offset_checkpoint(*offsets), checkpoint);

  const std::string meta = block_of_page("meta-properties.md", "file");
  const auto properties = parse_meta_properties(meta);
  ASSERT_TRUE(properties) << properties.error().message;
  EXPECT_EQ(format_meta_properties(*properties), meta);

  const std::string marker = block_of_page("clean-shutdown-marker.md", "file");
  EXPECT_EQ(format_clean_shutdown(parse_clean_shutdown(marker)) + "\n", marker);
}

TEST(FormatPages, show_the_layout_with_names_that_the_code_knows) {
  std::istringstream layout(block_of_page("directory-layout.md", "layout"));
  std::string kinds;
  for (std::string line; std::getline(layout, line);) {
    const std::string name = line.substr(0, line.find(' '));
    if (name.ends_with('/')) kinds += described(name.substr(0, name.size() - 1)) + "\n";
  }
  EXPECT_EQ(kinds, "orders/0\neu-orders-2024/11\ndelete old-3\nstray old-3\nfuture old-3\nmetadata\n");
}

}  // namespace
}  // namespace barnabas::storage
