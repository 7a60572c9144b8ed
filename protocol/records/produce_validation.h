#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "protocol/compression/codec.h"
#include "protocol/error_code.h"
#include "protocol/records/record_batch.h"

namespace barnabas::protocol {

/// What a topic and a request ask of produced records.
struct ProduceRules {
  int16_t produce_version = 12;
  /// `max.message.bytes`: the whole batch, as sent or as rebuilt.
  int32_t max_message_bytes = 1048588;
  /// `cleanup.policy` contains compact: every record needs a key.
  bool compacted = false;
  TimestampType timestamp_type = TimestampType::create_time;
  /// `message.timestamp.before.max.ms` and `after.max.ms`.
  int64_t timestamp_before_max_ms = std::numeric_limits<int64_t>::max();
  int64_t timestamp_after_max_ms = 3600000;
  /// `compression.type` of the topic; nothing is `producer`: kept as sent.
  std::optional<Compression> target_compression = std::nullopt;
  /// `max.decompressed.message.bytes`: one record of a compressed batch.
  int32_t max_decompressed_message_bytes = 2147483639;
  TimestampMs now{0};
  /// False: only what can be seen in the batch header and the checksum. For producers that are part of the
  /// broker.
  bool check_contents = true;
};

/// A batch that may be appended once base offset and leader epoch are written (set_base_offset and so on).
struct ValidatedBatch {
  /// The whole batch: within the request, or within `owned` when it had to be rebuilt.
  MutableByteView bytes;
  std::vector<std::byte> owned;
  int32_t record_count = 0;
  int32_t last_offset_delta = 0;
  TimestampMs max_timestamp = no_timestamp;
  /// Which offset the time index names for max_timestamp; Kafka 4 takes the batch's last one.
  int32_t time_index_offset_delta = 0;
  ProducerId producer_id = no_producer_id;
  ProducerEpoch producer_epoch = no_producer_epoch;
  int32_t base_sequence = no_sequence;
  bool transactional = false;
  bool control = false;
  /// For the answer: the broker's time in LogAppendTime topics, else -1.
  TimestampMs log_append_time = no_timestamp;
  Codec codec = Codec::none;

  bool has_producer_id() const { return producer_id > no_producer_id; }
};

struct RecordError {
  int32_t batch_index = 0;  ///< which record of the batch
  std::string message;
};

/// At most so many are listed; the batch is refused as a whole anyway.
inline constexpr size_t record_errors_max = 1000;

struct ProduceFailure {
  ErrorCode error;
  std::string message;
  std::vector<RecordError> record_errors;
  bool malformed =
      false;  ///< there is not even one batch to look at; told before anything else of the partition
};

/// What a broker does with the `records` of one partition in a Produce request (version 3 and above), where
/// they lie. Nothing as `records` is null on the wire. On success the batch's timestamps and checksum are as
/// they will be stored; a partial batch behind the first one is dropped.
///
/// The order of the checks, and so which error wins, is Kafka 4.4's: one whole batch of magic 2; zstd from
/// version 7; no second batch; base offset 0; size; checksum; count and offset range; no control batch;
/// sequence; then the records. Where Kafka answers UNKNOWN_SERVER_ERROR or nothing, this says INVALID_RECORD
/// (null records, unknown codec, contents that do not decompress, overlong varints, wrong offset deltas in a
/// compressed batch) or CORRUPT_MESSAGE (a batch length near 2^31).
///
/// A plain batch costs one checksum pass and one walk over the records, and no allocation. A compressed one
/// is decompressed once, in memory bounded by a constant (see Decompressor). A rebuilt one needs
/// max_message_bytes more. Touches nothing but its arguments; any thread.
std::expected<ValidatedBatch, ProduceFailure> validate_produced_records(
    std::optional<MutableByteView> records, const ProduceRules& rules);

}  // namespace barnabas::protocol
