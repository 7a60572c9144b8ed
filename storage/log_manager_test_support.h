#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/fake_disk.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/record_reader.h"
#include "storage/file_pool.h"
#include "storage/log_directories.h"
#include "storage/log_manager.h"

namespace barnabas::storage {

/// A node's storage on a fake disk: what the tests of the manager have in common.
class NodeStorage {
 public:
  NodeStorage(io::Disk& disk, std::vector<std::string> paths) : disk_(disk), paths_(std::move(paths)) {}
  ~NodeStorage() { crash(); }

  LogManagerOptions options;
  LogConfig config;

  /// Opens the directories and loads what is in them. An error leaves it stopped.
  Result<LoadSummary> start(bool format = true) {
    BARNABAS_ASSIGN(LogDirectories directories,
                    open_log_directories(
                        disk_, {.paths = paths_, .node_id = NodeId{1}, .cluster_id = {}, .format = format}));
    files_ = std::make_unique<FilePool>(disk_, 20);
    LogManagerOptions given = options;
    if (!given.config_of) {
      given.config_of = [shared = std::make_shared<const LogConfig>(config)](const std::string&) {
        return shared;
      };
    }
    manager_ = std::make_unique<LogManager>(disk_, *files_, std::move(directories), std::move(given));
    auto summary = manager_->load(wall);
    if (!summary) crash();
    return summary;
  }
  /// Ends without another word, as kill -9 does.
  void crash() {
    manager_.reset();
    files_.reset();
  }
  Result<void> stop(BrokerEpoch epoch = BrokerEpoch{1}) {
    auto stopped = manager_->shut_down(epoch);
    crash();
    return stopped;
  }

  LogManager& operator*() { return *manager_; }
  LogManager* operator->() { return manager_.get(); }
  bool running() const { return manager_ != nullptr; }

  TimestampMs wall{1'700'000'000'000};
  Instant now{};

 private:
  io::Disk& disk_;
  const std::vector<std::string> paths_;
  std::unique_ptr<FilePool> files_;
  std::unique_ptr<LogManager> manager_;
};

inline TopicPartition partition(const std::string& topic, int32_t index = 0) {
  return {topic, PartitionIndex{index}};
}

inline Result<AppendResult> append(Log& log, const std::string& value, TimestampMs time) {
  std::vector<std::byte> batch = protocol::single_record_batch(time, std::nullopt, as_byte_view(value));
  return log.append_as_leader(batch, LeaderEpoch{0}, time);
}

/// The values of all records from the log start on.
inline std::vector<std::string> values_of(Log& log) {
  std::vector<std::string> values;
  Offset next = log.log_start_offset();
  const Offset end = log.log_end_offset();
  while (next < end) {
    const auto found = log.read(next, 1 << 20, end, true);
    EXPECT_TRUE(found) << found.error().message;
    if (!found || found->slice.length == 0) break;
    std::vector<std::byte> bytes(found->slice.length);
    const auto got = found->slice.file->read_at(bytes, found->slice.position);
    EXPECT_EQ(got.value_or(0), bytes.size());
    protocol::BatchIterator batches(bytes);
    while (batches.next() == protocol::BatchIterator::Step::batch) {
      protocol::RecordReader reader(batches.batch());
      protocol::RecordView record;
      while (reader.next(record).value_or(false)) {
        if (record.offset >= log.log_start_offset()) values.emplace_back(as_text(*record.value()));
      }
    }
    EXPECT_GT(found->next_offset, next);
    if (found->next_offset <= next) break;
    next = found->next_offset;
  }
  return values;
}

}  // namespace barnabas::storage
