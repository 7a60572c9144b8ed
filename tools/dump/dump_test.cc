#include "tools/dump/dump.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "command/command_line.h"
#include "io/posix_disk.h"
#include "protocol/records/record_batch_builder.h"
#include "storage/file_pool.h"
#include "storage/log.h"

namespace barnabas::tools {
namespace {

/// The data directory that Apache Kafka left, file by file.
class DumpTest : public testing::Test {
 protected:
  DumpTest() {
    std::string name = (std::filesystem::temp_directory_path() / "dump-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::ifstream vectors(std::string(BARNABAS_SOURCE_DIR) + "/storage/testdata/log_dir.jsonl");
    for (std::string line; std::getline(vectors, line);) {
      const auto json = nlohmann::json::parse(line);
      std::string content = json.contains("text") ? json["text"].get<std::string>() : bytes(json["hex"]);
      content.resize(json["size"].get<std::size_t>());
      write(json["path"], content);
      paths_.push_back(json["path"]);
    }
  }
  ~DumpTest() override { std::filesystem::remove_all(root_); }

  static std::string bytes(const std::string& hex) {
    std::string result;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      result += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return result;
  }

  std::string path(const std::string& name) const { return root_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
  }
  std::string read(const std::string& name) const {
    std::ostringstream content;
    content << std::ifstream(path(name), std::ios::binary).rdbuf();
    return content.str();
  }

  int dump(std::vector<std::string> arguments) {
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    std::ostringstream out;
    std::ostringstream errors;
    DumpCommand command;
    const int code = command::run_alone(command, pointers, out, errors);
    out_ = out.str();
    errors_ = errors.str();
    return code;
  }
  bool has(const std::string& text) const { return out_.find(text) != std::string::npos; }
  bool complains(const std::string& text) const { return errors_.find(text) != std::string::npos; }

  std::string root_;
  std::vector<std::string> paths_;
  std::string out_;
  std::string errors_;
};

constexpr const char* segment = "segment-sample-0/00000000000000000000.log";

TEST_F(DumpTest, accepts_every_file_that_apache_kafka_wrote) {
  ASSERT_EQ(paths_.size(), 32U);
  for (const std::string& name : paths_) EXPECT_EQ(dump({path(name)}), 0) << name << "\n" << errors_;
}

TEST_F(DumpTest, shows_batches_and_records) {
  ASSERT_EQ(dump({path(segment)}), 0);
  EXPECT_TRUE(has(
      "batch baseOffset=0 lastOffset=0 position=0 size=90 leaderEpoch=0 codec=none CreateTime=1700000000000 "
      "(2023-11-14T22:13:20.000Z) records=1 producer=1/0 baseSequence=0 crc=5221a836"))
      << out_;
  EXPECT_TRUE(has("key=\"k0\" value=\"plain value number 0\"")) << out_;
  EXPECT_TRUE(has("COMMIT EndTxnMarker v0 {\"coordinatorEpoch\":0}")) << out_;
  EXPECT_TRUE(has("ABORT EndTxnMarker v0")) << out_;
  EXPECT_TRUE(has(" of 1768 bytes, next offset 34")) << out_;
  ASSERT_EQ(dump({"--batches-only", path(segment)}), 0);
  EXPECT_FALSE(has("key="));
}

TEST_F(DumpTest, shows_metadata_and_coordinator_records) {
  ASSERT_EQ(dump({path("__cluster_metadata-0")}), 0) << errors_;
  for (const char* name : {"LeaderChangeMessage v0", "FeatureLevelRecord v0", "RegisterBrokerRecord v",
                           "TopicRecord v0", "PartitionRecord v", "SnapshotHeaderRecord v0",
                           "SnapshotFooterRecord v0", "\"data_version\":0", "leaderEpoch=1 startOffset=0"}) {
    EXPECT_TRUE(has(name)) << name;
  }
  ASSERT_EQ(dump({path("__consumer_offsets-0")}), 0) << errors_;
  EXPECT_TRUE(
      has("OffsetCommitKey v0 {\"group\":\"log-dir-group\",\"topic\":\"segment-sample\",\"partition\":0} = "
          "OffsetCommitValue v4 {"))
      << out_;
  ASSERT_EQ(dump({path("__transaction_state-0")}), 0) << errors_;
  EXPECT_TRUE(has("TransactionLogKey v0 {\"transactionalId\":")) << out_;
}

TEST_F(DumpTest, shows_small_files) {
  ASSERT_EQ(dump({root_}), 0) << errors_;
  EXPECT_TRUE(has("version=1 clusterId=AAAAAAAAAAAAAAAAAAAAAQ nodeId=1 directoryId=sb8lqIiYfn1gFx9jgBZ-mw"))
      << out_;
  EXPECT_TRUE(has("topic=lz4-accepted partition=0 offset=3"));
  EXPECT_TRUE(has("end: 125 partitions"));
  ASSERT_EQ(dump({path("segment-sample-0/00000000000000000034.snapshot")}), 0);
  EXPECT_TRUE(has("producerId=1 producerEpoch=0 lastSequence=9 lastOffset=9 offsetDelta=0")) << out_;
  ASSERT_EQ(dump({path("segment-sample-0/00000000000000000000.txnindex")}), 0);
  EXPECT_TRUE(has("entry 0 producerId=2 firstOffset=16 lastOffset=21 lastStableOffset=22")) << out_;
  ASSERT_EQ(dump({path("segment-sample-0/partition.metadata")}), 0);
  EXPECT_TRUE(has("topicId=EyPPP4yeRpO1gGK6WtiMGg"));
}

TEST_F(DumpTest, a_flipped_bit_anywhere_in_a_segment_is_found) {
  const std::string good = read(segment);
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    write(segment, bad);
    // Base offset and leader epoch lie outside of the checksum.
    const int code = dump({"--no-cross-check", path(segment)});
    if (code == 0) {
      const std::string plain = out_;
      write(segment, good);
      ASSERT_EQ(dump({"--no-cross-check", path(segment)}), 0);
      EXPECT_NE(plain, out_) << "byte " << at;
    }
  }
}

TEST_F(DumpTest, damage_is_said_with_place_finding_and_expectation) {
  const std::string good = read(segment);
  std::string content = good;
  content[100] = 'X';
  write(segment, content);
  EXPECT_EQ(dump({path(segment)}), 1);
  EXPECT_TRUE(complains(path(segment) + ": byte 90: ")) << errors_;

  write(segment, good.substr(0, good.size() - 5));
  EXPECT_EQ(dump({path(segment)}), 1);
  EXPECT_TRUE(complains("of which the file has")) << errors_;

  write(segment, good + std::string(100, '\0'));
  EXPECT_EQ(dump({path(segment)}), 1);
  EXPECT_TRUE(complains("byte 1768: zeros found up to the end (100 bytes), a batch expected")) << errors_;
}

TEST_F(DumpTest, an_index_that_contradicts_its_segment_is_found) {
  const std::string index = "segment-sample-0/00000000000000000000.index";
  std::string content = read(index);
  content[7] = static_cast<char>(content[7] + 1);
  write(index, content);
  EXPECT_EQ(dump({path(index)}), 1);
  EXPECT_TRUE(complains("byte 0: position 271 found, where the log has no batch")) << errors_;
  EXPECT_EQ(dump({"--no-cross-check", path(index)}), 0);
  write(index, content + "abc");
  EXPECT_EQ(dump({"--no-cross-check", path(index)}), 1);
  EXPECT_TRUE(complains("byte 56: 3 bytes found, entries of 8 expected")) << errors_;

  const std::string times = "segment-sample-0/00000000000000000000.timeindex";
  content = read(times);
  content[7] = static_cast<char>(content[7] + 1);
  write(times, content);
  EXPECT_EQ(dump({path(times)}), 1);
  EXPECT_TRUE(complains("expected (of the batch with offset 3)")) << errors_;
}

TEST_F(DumpTest, damaged_small_files_are_found) {
  const auto refuses = [&](const std::string& name, const std::string& content) {
    write(name, content);
    EXPECT_EQ(dump({path(name)}), 1) << name << ": " << content;
    EXPECT_TRUE(complains(path(name) + ": ")) << errors_;
  };
  refuses("meta.properties", "version=1\n");
  refuses("replication-offset-checkpoint", "0\n1\nx\n");
  refuses("a-0/leader-epoch-checkpoint", "0\n1\nx y\n");
  refuses("a-0/partition.metadata", "version: 1\ntopic_id: EyPPP4yeRpO1gGK6WtiMGg");
  refuses("a-0/partition.metadata", "version: 0\ntopic_id: short");
  refuses("a-0/quorum-state", "{");
  refuses("a-0/00000000000000000034.snapshot", "short");
}

TEST_F(DumpTest, what_is_not_there_or_not_known_is_an_error) {
  EXPECT_EQ(dump({path("a-0/00000000000000000000.log")}), 1);
  EXPECT_TRUE(complains("No such file")) << errors_;
  EXPECT_EQ(dump({path("nonexistent")}), 1);
  EXPECT_TRUE(complains("No such file")) << errors_;
  write("notes.txt", "hello");
  EXPECT_EQ(dump({path("notes.txt")}), 1);
  EXPECT_TRUE(complains("not a file name of a data directory")) << errors_;
  EXPECT_EQ(dump({}), 2);
  EXPECT_EQ(dump({"--decoder", "guess", path(segment)}), 2);
  EXPECT_EQ(dump({"--help"}), 0);
  EXPECT_TRUE(has("FILE"));
}

TEST_F(DumpTest, a_batch_above_the_limit_is_not_read) {
  EXPECT_EQ(dump({"--max-bytes", "85", path(segment)}), 1);
  EXPECT_TRUE(complains("batch of 90 bytes is not read")) << errors_;
}

TEST_F(DumpTest, accepts_everything_that_a_log_writes) {
  io::PosixDisk disk;
  storage::FilePool files(disk, 10);
  storage::LogConfig config;
  config.segment_bytes = 20'000;
  config.index_interval_bytes = 500;
  storage::Log::OpenOptions options;
  options.topic = "orders";
  options.topic_id = Uuid::random();
  options.config = std::make_shared<const storage::LogConfig>(config);
  options.now = TimestampMs{1'700'000'000'000};
  auto log = storage::Log::open(disk, files, path("orders-0"), options);
  ASSERT_TRUE(log) << log.error().message;
  for (int i = 0; i < 300; ++i) {
    protocol::RecordBatchOptions batch_options;
    batch_options.compression.codec = static_cast<protocol::Codec>(i % 5);
    batch_options.producer_id = ProducerId{7};
    batch_options.producer_epoch = ProducerEpoch{0};
    batch_options.base_sequence = 3 * i;
    protocol::RecordBatchBuilder builder(batch_options);
    const std::string key = "key " + std::to_string(i);
    for (int k = 0; k < 3; ++k)
      builder.append(options.now + i, as_byte_view(key), as_byte_view("value " + std::string(50, 'v')));
    std::vector<std::byte> batch = builder.build();
    const auto appended = (*log)->append_as_leader(batch, LeaderEpoch{i / 100}, options.now + i);
    ASSERT_TRUE(appended) << appended.error().message;
  }
  ASSERT_TRUE((*log)->close_clean());
  EXPECT_EQ(dump({path("orders-0")}), 0) << errors_;
  EXPECT_TRUE(has("next offset 900")) << out_.substr(out_.size() - 2000);
  EXPECT_TRUE(has("codec=zstd") && has("codec=lz4") && has("codec=snappy") && has("codec=gzip"));
  EXPECT_TRUE(has("producerId=7 producerEpoch=0 lastSequence=899 lastOffset=899 offsetDelta=2"));
  EXPECT_TRUE(has("leaderEpoch=2 startOffset=600"));
  EXPECT_TRUE(has("topicId=" + options.topic_id.to_string()));
}

}  // namespace
}  // namespace barnabas::tools
