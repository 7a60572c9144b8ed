#include "cluster/local_quorum.h"

#include <gtest/gtest.h>

#include "cluster/quorum_state.h"
#include "io/fake_disk.h"
#include "metadata/metadata_test_support.h"
#include "metadata/snapshot.h"
#include "protocol/records/record_batch_builder.h"

namespace barnabas::cluster {
namespace {

const std::string log_path = "/data/__cluster_metadata-0/00000000000000000000.log";

class Quorum : public ::testing::Test {
 protected:
  Quorum() {
    EXPECT_TRUE(disk.create_directories("/data"));
    options.log_directory = "/data";
    options.cluster_id = "cluster";
    options.node_id = NodeId{1};
    options.directory_id = metadata::testing::id(7);
  }
  Result<std::unique_ptr<LocalQuorum>> open() {
    return LocalQuorum::open(disk, files, options, TimestampMs{1000});
  }
  /// Why the directory was refused.
  std::string refusal() {
    const auto opened = open();
    return opened ? "it was opened" : opened.error().message;
  }
  void put_control(const std::vector<metadata::ControlRecord>& records) {
    protocol::RecordBatchOptions batch;
    batch.control = true;
    batch.partition_leader_epoch = LeaderEpoch{1};
    protocol::RecordBatchBuilder builder(batch);
    for (const auto& record : records) builder.append(TimestampMs{1}, record.key, record.value);
    disk.put_file(log_path, as_text(builder.build()));
  }

  io::FakeDisk disk;
  storage::FilePool files{disk, 16};
  LocalQuorumOptions options;
};

TEST_F(Quorum, goes_on_with_the_log_of_a_kafka_node) {
  disk.put_file(log_path, metadata::testing::kafka_file("00000000000000000000.log"));
  disk.put_file("/data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
                metadata::testing::kafka_file("00000000000000000000-0000000000.checkpoint"));
  const auto quorum = open();
  ASSERT_TRUE(quorum) << quorum.error().message;
  EXPECT_EQ((*quorum)->epoch(), LeaderEpoch{2});
  EXPECT_EQ((*quorum)->image()->topics_by_name.size(), 125u);
  EXPECT_EQ((*quorum)->image()->kraft_version, 0);
  EXPECT_EQ((*quorum)->image()->next_producer_id, 1000);
  EXPECT_EQ((*quorum)->next_offset(), Offset{501}) << "LeaderChange and RegisterController behind offset 498";
  ASSERT_TRUE((*quorum)->close_clean(TimestampMs{2000}));
  EXPECT_EQ(
      disk.content("/data/__cluster_metadata-0/quorum-state"),
      R"({"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0})");
  EXPECT_EQ(disk.content("/data/__cluster_metadata-0/leader-epoch-checkpoint"), "0\n2\n1 0\n2 499\n");
}

TEST_F(Quorum, a_new_log_begins_with_leader_change_version_voters_and_the_bootstrap_transaction) {
  const auto quorum = open();
  ASSERT_TRUE(quorum);
  const std::string log = *disk.content(log_path);
  protocol::BatchIterator batches(as_byte_view(log));
  std::vector<std::pair<bool, int32_t>> shape;  // control, records
  while (batches.next() == protocol::BatchIterator::Step::batch) {
    EXPECT_TRUE(batches.batch().verify_crc());
    EXPECT_EQ(batches.batch().partition_leader_epoch(), LeaderEpoch{1});
    EXPECT_EQ(batches.batch().producer_id(), no_producer_id);
    shape.emplace_back(batches.batch().is_control(), batches.batch().record_count());
  }
  EXPECT_EQ(shape, (std::vector<std::pair<bool, int32_t>>{{true, 3}, {false, 10}}))
      << "leader, version and voters; bootstrap transaction and controller";
  EXPECT_EQ(disk.content("/data/__cluster_metadata-0/partition.metadata"),
            "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ");
}

TEST_F(Quorum, what_a_directory_was_formatted_with_comes_first_in_its_log) {
  const std::string formatted = "/data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint";
  disk.put_file(formatted, metadata::testing::kafka_file("00000000000000000000-0000000000.checkpoint"));
  const auto features = [&] {
    const auto quorum = open();
    EXPECT_TRUE(quorum) << quorum.error().message;
    const auto found = (*quorum)->image()->features;
    EXPECT_TRUE((*quorum)->close_clean(TimestampMs{2000}));
    return found;
  };
  const auto before = features();
  EXPECT_GT(before.size(), 1u);
  // A Kafka controller looks into the log alone.
  ASSERT_TRUE(disk.remove(formatted));
  EXPECT_EQ(features(), before);
}

TEST_F(Quorum, the_epoch_follows_quorum_state_when_that_is_ahead_of_the_log) {
  ASSERT_TRUE(write_quorum_state(disk, "/data", {NodeId{1}, LeaderEpoch{40}}, 1, NodeId{1}));
  disk.put_file("/data/__cluster_metadata-0/quorum-state", *disk.content("/data/quorum-state"));
  EXPECT_EQ((*open())->epoch(), LeaderEpoch{41});
}

TEST_F(Quorum, a_damaged_quorum_state_is_made_anew) {
  disk.put_file("/data/__cluster_metadata-0/quorum-state", "");
  EXPECT_EQ((*open())->epoch(), LeaderEpoch{1});
}

TEST_F(Quorum, the_log_of_another_quorum_is_refused_with_what_was_found_and_what_to_do) {
  const Uuid ours = options.directory_id;
  const auto voter = [](int32_t node, const Uuid& directory) {
    return metadata::VoterImage{NodeId{node}, directory, {}, {0, 1}};
  };
  put_control({metadata::leader_change_record(NodeId{1}, {NodeId{1}, NodeId{4}, NodeId{5}}),
               metadata::kraft_version_record(1),
               metadata::voters_record({voter(1, ours), voter(4, ours), voter(5, ours)})});
  EXPECT_TRUE(
      refusal().starts_with("/data/__cluster_metadata-0: the metadata quorum has the voters 1, 4, 5; a "
                            "broker on its own can only go on with "
                            "the metadata log of a quorum whose single voter it is: node 1 in directory " +
                            ours.to_string()))
      << refusal();

  put_control({metadata::kraft_version_record(1), metadata::voters_record({voter(3, ours)})});
  EXPECT_NE(refusal().find("the voter of the metadata quorum is node 3;"), std::string::npos) << refusal();

  const Uuid theirs = metadata::testing::id(8);
  put_control({metadata::kraft_version_record(1), metadata::voters_record({voter(1, theirs)})});
  EXPECT_NE(refusal().find("the voter of the metadata quorum has the directory " + theirs.to_string()),
            std::string::npos)
      << refusal();

  put_control({metadata::kraft_version_record(1)});
  EXPECT_NE(refusal().find("formatted to join the controllers of others;"), std::string::npos) << refusal();

  // Static quorums name their voters in LeaderChange only.
  put_control({metadata::leader_change_record(NodeId{2}, {NodeId{2}, NodeId{3}})});
  EXPECT_NE(refusal().find("the metadata quorum has the voters 2, 3;"), std::string::npos) << refusal();
  put_control({metadata::leader_change_record(NodeId{2}, {NodeId{2}})});
  EXPECT_NE(refusal().find("the voter of the metadata quorum is node 2;"), std::string::npos) << refusal();
  EXPECT_FALSE(disk.content("/data/__cluster_metadata-0/quorum-state").has_value())
      << "nothing is written before that";
}

TEST_F(Quorum, a_newer_metadata_version_is_refused) {
  options.bootstrap_features = {{"metadata.version", 34}};
  EXPECT_NE(refusal().find("metadata.version 34: this version reads 7 to 33"), std::string::npos)
      << refusal();
}

TEST_F(Quorum, a_transaction_that_the_last_run_left_open_is_taken_back) {
  metadata::RecordList records;
  {
    auto quorum = open();
    ASSERT_TRUE(quorum);
  }
  const std::string before = *disk.content(log_path);
  auto reopened = open();
  ASSERT_TRUE(reopened);
  const Offset next = (*reopened)->next_offset();
  reopened->reset();
  records.add(protocol::BeginTransactionRecord{});
  records.add(metadata::testing::topic("half", metadata::testing::id(1)));
  auto batch = metadata::testing::batch_of(records, next);
  protocol::set_partition_leader_epoch(batch, LeaderEpoch{2});
  disk.put_file(log_path, *disk.content(log_path) + std::string(as_text(batch)));
  const auto again = open();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->image()->topic("half"), nullptr);
  metadata::RecordList more;
  more.add(metadata::testing::topic("whole", metadata::testing::id(2)));
  ASSERT_TRUE((*again)->append(more, TimestampMs{2}));
  EXPECT_NE((*again)->image()->topic("whole"), nullptr);
}

TEST_F(Quorum, a_log_without_its_beginning_and_without_a_snapshot_is_refused) {
  auto batch = metadata::testing::batch_of(
      [] {
        metadata::RecordList records;
        records.add(metadata::testing::topic("t", metadata::testing::id(1)));
        return records;
      }(),
      Offset{50});
  disk.put_file("/data/__cluster_metadata-0/00000000000000000050.log", as_text(batch));
  EXPECT_EQ(
      refusal(),
      "/data/__cluster_metadata-0: the log begins at offset 50 and there is no snapshot of what was before");
}

TEST_F(Quorum, a_snapshot_that_was_never_finished_is_refused) {
  disk.put_file("/data/__cluster_metadata-0/00000000000000000050-0000000003.checkpoint",
                metadata::testing::kafka_file("00000000000000000000-0000000000.checkpoint").substr(0, 336));
  EXPECT_EQ(refusal(),
            "/data/__cluster_metadata-0/00000000000000000050-0000000003.checkpoint: no snapshot footer: the "
            "file was never "
            "finished; the log has not all that was in it either. Restore the file from a copy");
}

TEST_F(Quorum, goes_on_behind_a_snapshot_without_any_log) {
  metadata::MetadataImage image;
  image.features["metadata.version"] = 33;
  image.next_producer_id = 5000;
  image.position = {Offset{99}, LeaderEpoch{6}, TimestampMs{1}};
  const auto snapshot = metadata::write_snapshot(image, TimestampMs{2});
  disk.put_file("/data/__cluster_metadata-0/00000000000000000100-0000000006.checkpoint", as_text(snapshot));
  const auto quorum = open();
  ASSERT_TRUE(quorum) << quorum.error().message;
  EXPECT_EQ((*quorum)->epoch(), LeaderEpoch{7});
  EXPECT_EQ((*quorum)->next_offset(), Offset{102});
  EXPECT_EQ((*quorum)->image()->next_producer_id, 5000);
}

TEST(QuorumState, both_forms_are_read_and_written_as_kafka_writes_them) {
  const std::string dynamic =
      R"({"leaderId":1,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1})";
  const std::string fixed =
      R"({"clusterId":"","leaderId":1,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0})";
  const QuorumState state{NodeId{1}, LeaderEpoch{3}};
  EXPECT_EQ(format_quorum_state(state, 1, NodeId{1}), dynamic);
  EXPECT_EQ(format_quorum_state(state, 0, NodeId{1}), fixed);
  for (const auto& text : {dynamic, fixed}) {
    const auto read = parse_quorum_state(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, state);
  }
}

TEST(QuorumState, damage_is_an_error) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"data_version":1})", R"({"data_version":2,"leaderId":1,"leaderEpoch":1})",
        R"({"data_version":1,"leaderId":1,"leaderEpoch":"x"})",
        R"({"data_version":1,"leaderId":1,"leaderEpoch":99999999999})",
        R"({"data_version":1,"leaderId":1,"leaderEpoch":-2})"})
    EXPECT_FALSE(parse_quorum_state(text)) << text;
}

}  // namespace
}  // namespace barnabas::cluster
