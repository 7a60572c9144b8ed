#pragma once

// Verbs for tests of logs: `log.append(batch(3)); log.lose_power(); EXPECT_EQ(log.end(), Offset{3});`

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/endian.h"
#include "io/fake_disk.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/record_reader.h"
#include "protocol/records/transaction_marker.h"
#include "storage/file_pool.h"
#include "storage/log.h"

namespace barnabas::storage::test {

using Bytes = std::vector<std::byte>;

struct BatchShape {
  int32_t records = 1;
  TimestampMs timestamp{1'000};
  int64_t timestamp_step = 1;
  std::size_t value_bytes = 20;
  int64_t producer_id = -1;
  int16_t producer_epoch = 0;
  int32_t sequence = 0;
  bool transactional = false;
  Offset base_offset{0};
  LeaderEpoch leader_epoch = no_leader_epoch;
  std::string text = "value";
  protocol::Codec codec = protocol::Codec::none;
};

inline Bytes batch(const BatchShape& shape) {
  protocol::RecordBatchOptions options;
  options.base_offset = shape.base_offset;
  options.partition_leader_epoch = shape.leader_epoch;
  options.transactional = shape.transactional;
  options.compression.codec = shape.codec;
  if (shape.producer_id >= 0) {
    options.producer_id = ProducerId(shape.producer_id);
    options.producer_epoch = ProducerEpoch(shape.producer_epoch);
    options.base_sequence = shape.sequence;
  }
  protocol::RecordBatchBuilder builder(options);
  for (int32_t i = 0; i < shape.records; ++i) {
    std::string value = shape.text + " " + std::to_string(i);
    if (value.size() < shape.value_bytes) value.resize(shape.value_bytes, '.');
    builder.append(shape.timestamp + i * shape.timestamp_step, std::nullopt, as_byte_view(value));
  }
  return builder.build();
}
inline Bytes batch(int32_t records) {
  return batch(BatchShape{.records = records});
}

/// A control batch that ends a transaction.
inline Bytes marker(int64_t producer_id, bool abort, int32_t coordinator_epoch = 0,
                    int16_t producer_epoch = 0) {
  return protocol::transaction_marker_batch({.producer_id = ProducerId(producer_id),
                                             .producer_epoch = ProducerEpoch(producer_epoch),
                                             .committed = !abort,
                                             .coordinator_epoch = coordinator_epoch},
                                            TimestampMs{5'000});
}

struct ReadRecord {
  Offset offset;
  std::string value;
  bool operator==(const ReadRecord&) const = default;
};

/// A log on a fake disk that can be closed, crashed and opened again.
class TestLog {
 public:
  static constexpr const char* directory = "data/topic-0";

  TestLog() {
    disk.create_directories("data").value();
    disk.sync_directory(".").value();
  }

  Result<void> try_open(bool clean = false) {
    log.reset();
    auto opened = Log::open(disk, files, directory,
                            {.topic = "topic",
                             .partition = PartitionIndex{0},
                             .topic_id = topic_id,
                             .config = std::make_shared<LogConfig>(config),
                             .recovery_point = recovery_point,
                             .log_start_offset = log_start,
                             .cleaned_to = cleaned_to,
                             .clean = clean,
                             .now = now});
    if (!opened) return std::unexpected(opened.error());
    log = std::move(*opened);
    return {};
  }
  void open(bool clean = false) {
    auto opened = try_open(clean);
    ASSERT_TRUE(opened) << opened.error().message;
  }
  /// A clean stop and start.
  void reopen() {
    auto closed = log->close_clean();
    ASSERT_TRUE(closed) << closed.error().message;
    checkpoint();
    open(/*clean=*/true);
  }
  /// The process dies, the machine stays up.
  void crash() {
    log.reset();
    open();
  }
  void lose_power(io::Unsynced unsynced = io::Unsynced::lost, uint64_t seed = 0) {
    log.reset();
    disk.power_cut(unsynced, seed);
    open();
  }
  /// What the checkpoint files would say from now on.
  void checkpoint() {
    recovery_point = log->recovery_point();
    log_start = log->log_start_offset();
    cleaned_to = log->cleaned_to();
  }

  Result<AppendResult> try_append(Bytes bytes, AppendOrigin origin = AppendOrigin::client) {
    return log->append_as_leader(bytes, epoch, now, origin);
  }
  AppendResult append(Bytes bytes, AppendOrigin origin = AppendOrigin::client) {
    auto result = try_append(std::move(bytes), origin);
    EXPECT_TRUE(result) << result.error().message;
    return result.value_or(AppendResult{});
  }
  Offset flush() {
    auto flushed = log->flush();
    EXPECT_TRUE(flushed) << flushed.error().message;
    return flushed.value_or(no_offset);
  }
  Offset end() const { return log->log_end_offset(); }
  Offset start() const { return log->log_start_offset(); }

  Bytes bytes_of(const ReadResult& result) const {
    Bytes bytes(result.slice.length);
    if (result.slice.length == 0) return bytes;
    auto got = result.slice.file->read_at(bytes, result.slice.position);
    EXPECT_TRUE(got && *got == bytes.size());
    return bytes;
  }
  /// All records from `from` up to `bound`, read in pieces of at most `max_bytes`.
  std::vector<ReadRecord> read_all(Offset from, Offset bound, uint64_t max_bytes = 1 << 20) {
    std::vector<ReadRecord> records;
    while (from < bound) {
      auto result = log->read(from, max_bytes, bound, true);
      EXPECT_TRUE(result) << result.error().message;
      if (!result || result->slice.length == 0) break;
      const Bytes bytes = bytes_of(*result);
      protocol::BatchIterator iterator(bytes);
      while (iterator.next() == protocol::BatchIterator::Step::batch) {
        EXPECT_TRUE(iterator.batch().verify_crc());
        protocol::RecordReader reader(iterator.batch());
        protocol::RecordView record;
        while (reader.next(record).value_or(false))
          if (record.offset >= from)
            records.push_back({record.offset, std::string(as_text(record.value().value_or(ByteView{})))});
        from = iterator.batch().next_offset();
      }
      EXPECT_EQ(iterator.remaining().size(), 0u) << "a read gives whole batches";
    }
    return records;
  }
  std::vector<int64_t> offsets() {
    std::vector<int64_t> all;
    for (const ReadRecord& record : read_all(start(), end())) all.push_back(record.offset.value());
    return all;
  }
  std::string path(Offset base, const std::string& suffix) const {
    std::string digits = std::to_string(base.value());
    return std::string(directory) + "/" + std::string(20 - digits.size(), '0') + digits + suffix;
  }

  io::FakeDisk disk;
  FilePool files{disk, 64};
  LogConfig config;
  Uuid topic_id = Uuid::parse("EyPPP4yeRpO1gGK6WtiMGg").value();
  LeaderEpoch epoch{0};
  TimestampMs now{1'000'000};
  Offset recovery_point{0};
  Offset log_start{0};
  std::optional<Offset> cleaned_to;
  std::unique_ptr<Log> log;
};

}  // namespace barnabas::storage::test
