// Directories that Apache Kafka 4.4 left behind: opened as they are, and made again to the byte.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "storage/log_fixture.h"

namespace barnabas::storage {
namespace {

using namespace test;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// File name to content of one directory.
std::map<std::string, std::string> kafkas_files(const std::string& directory) {
  std::map<std::string, std::string> files;
  std::ifstream lines(BARNABAS_SOURCE_DIR "/storage/testdata/log_dir.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto item = nlohmann::json::parse(line);
    const std::string path = item.at("path");
    if (!path.starts_with(directory + "/")) continue;
    std::string content =
        item.contains("text") ? item.at("text").get<std::string>() : from_hex(item.at("hex"));
    content.resize(item.at("size"));
    files[path.substr(directory.size() + 1)] = content;
  }
  EXPECT_FALSE(files.empty()) << directory;
  return files;
}

class KafkaDirectoryTest : public ::testing::Test {
 protected:
  void put(const std::string& directory) {
    files = kafkas_files(directory);
    for (const auto& [name, content] : files)
      log.disk.put_file(std::string(TestLog::directory) + "/" + name, content);
    // What the sample was made with.
    log.config.index_interval_bytes = 200;
    log.config.segment_ms = std::numeric_limits<int64_t>::max();
    log.topic_id = {};
  }
  std::string content(const std::string& name) const {
    return log.disk.content(std::string(TestLog::directory) + "/" + name).value_or("no such file");
  }
  TestLog log;
  std::map<std::string, std::string> files;
};

TEST_F(KafkaDirectoryTest, is_opened_after_a_clean_stop) {
  put("segment-sample-0");
  log.recovery_point = Offset{34};
  log.open(/*clean=*/true);
  EXPECT_EQ(log.end(), Offset{34});
  EXPECT_FALSE(log.log->recovery().scanned);
  EXPECT_EQ(log.log->topic_id()->to_string(), "EyPPP4yeRpO1gGK6WtiMGg");
  EXPECT_EQ(log.log->latest_epoch(), LeaderEpoch{0});
  EXPECT_EQ(log.log->producers().size(), 2u);
  EXPECT_EQ(log.log->aborted_transactions(Offset{0}, log.end())->size(), 2u);
  EXPECT_EQ(log.log->offset_for_timestamp(TimestampMs{0x18bcfe56850}).value()->offset, Offset{8});
  EXPECT_EQ(log.append(batch({.records = 1, .producer_id = 1, .sequence = 10})).base_offset, Offset{34});
  EXPECT_TRUE(log.append(batch({.records = 1, .producer_id = 1, .sequence = 6})).duplicate);
}

TEST_F(KafkaDirectoryTest, is_made_again_to_the_byte_by_recovery) {
  put("segment-sample-0");
  for (const char* name : {"00000000000000000000.index", "00000000000000000000.timeindex",
                           "00000000000000000000.txnindex", "00000000000000000034.snapshot"})
    log.disk.put_file(std::string(TestLog::directory) + "/" + name, "spoilt");
  log.open();
  EXPECT_TRUE(log.log->recovery().lossless());
  log.reopen();
  for (const auto& [name, expected] : files) EXPECT_EQ(content(name), expected) << name;
}

TEST_F(KafkaDirectoryTest, is_made_again_to_the_byte_by_appending_the_same) {
  put("segment-sample-0");
  TestLog ours;
  ours.config = log.config;
  ours.topic_id = Uuid::parse("EyPPP4yeRpO1gGK6WtiMGg").value();
  ours.open();
  const std::string& theirs = files.at("00000000000000000000.log");
  protocol::BatchIterator iterator(as_byte_view(theirs));
  while (iterator.next() == protocol::BatchIterator::Step::batch) {
    const ByteView bytes = iterator.batch().bytes();
    ours.append({bytes.begin(), bytes.end()},
                iterator.batch().is_control() ? AppendOrigin::coordinator : AppendOrigin::client);
  }
  ours.reopen();
  for (const auto& [name, expected] : files)
    EXPECT_EQ(ours.disk.content(std::string(TestLog::directory) + "/" + name).value_or("no such file"),
              expected)
        << name;
}

TEST_F(KafkaDirectoryTest, with_preallocated_indexes_is_opened_either_way) {
  for (bool clean : {true, false}) {
    put("__cluster_metadata-0");
    log.recovery_point = Offset{clean ? 499 : 0};
    log.open(clean);
    const Offset end = log.end();
    EXPECT_GE(end, Offset{490});
    EXPECT_EQ(static_cast<int64_t>(log.offsets().size()), end.value());
    EXPECT_EQ(log.log->latest_epoch(), LeaderEpoch{1});
    log.log.reset();
  }
}

}  // namespace
}  // namespace barnabas::storage
