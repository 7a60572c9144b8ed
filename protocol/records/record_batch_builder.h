#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "protocol/compression/codec.h"
#include "protocol/compression/compressor.h"
#include "protocol/records/record_batch.h"
#include "protocol/records/record_reader.h"

namespace barnabas::protocol {

struct RecordBatchOptions {
  Compression compression = {};
  Offset base_offset{0};
  LeaderEpoch partition_leader_epoch = no_leader_epoch;
  /// When given, the batch is of type LogAppendTime with this as its max timestamp.
  std::optional<TimestampMs> log_append_time = std::nullopt;
  ProducerId producer_id = no_producer_id;
  ProducerEpoch producer_epoch = no_producer_epoch;
  int32_t base_sequence = no_sequence;
  bool transactional = false;
  bool control = false;
  /// Compaction's mark for tombstones and transaction markers; takes the place of the base timestamp.
  std::optional<TimestampMs> delete_horizon = std::nullopt;
};

/// Makes a batch of version 2. The records are compressed as they come; nothing is kept but the output.
///   RecordBatchBuilder builder;
///   builder.append(TimestampMs{5}, as_byte_view("key"), as_byte_view("value"));
///   std::vector<std::byte> batch = builder.build();
class RecordBatchBuilder {
 public:
  explicit RecordBatchBuilder(RecordBatchOptions options = {});

  /// The next offset; nothing as key or value is null.
  void append(TimestampMs timestamp, std::optional<ByteView> key, std::optional<ByteView> value,
              std::span<const RecordHeader> headers = {});
  /// With a gap in front, as compaction leaves it. Offsets must ascend from the base offset on.
  void append_at(Offset offset, TimestampMs timestamp, std::optional<ByteView> key,
                 std::optional<ByteView> value, std::span<const RecordHeader> headers = {});
  /// Takes over a record read from another batch, with key, value and headers as they stand.
  void append_at(Offset offset, const RecordView& record);

  /// Compaction keeps a batch's last offset when its last record goes.
  void set_last_offset(Offset last_offset) { last_offset_ = last_offset; }

  int32_t record_count() const { return header_.record_count; }
  bool empty() const { return header_.record_count == 0; }
  TimestampMs max_timestamp() const { return max_timestamp_; }
  /// What is written so far; a compressor may hold back some more.
  size_t size_bytes() const { return out_.size(); }

  /// The finished batch with its checksum. The builder is used up.
  std::vector<std::byte> build();

 private:
  void begin_record(Offset offset, TimestampMs timestamp);
  void end_record();

  RecordBatchOptions options_;
  RecordBatchHeader header_;
  CompressionStream stream_;
  std::vector<std::byte> out_;
  std::vector<std::byte> body_;    // the record that is being written
  std::vector<std::byte> length_;  // and its length
  TimestampMs max_timestamp_ = no_timestamp;
  Offset next_offset_;
  std::optional<Offset> last_offset_;
};

/// One record without header, as tests want it.
std::vector<std::byte> single_record_batch(TimestampMs timestamp, std::optional<ByteView> key,
                                           std::optional<ByteView> value, RecordBatchOptions options = {});

}  // namespace barnabas::protocol
