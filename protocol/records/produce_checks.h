#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "protocol/records/produce_validation.h"
#include "protocol/records/record_parser.h"

namespace barnabas::protocol {

// Parts of produce validation that its files share; nothing for others.

inline std::unexpected<ProduceFailure> refuse(ErrorCode error, std::string message) {
  return std::unexpected<ProduceFailure>(ProduceFailure{error, std::move(message), {}});
}

/// What a topic asks of each single record: keys and timestamps. Collects what is wrong, for the answer.
class RecordChecks {
 public:
  RecordChecks(const RecordBatchView& batch, const ProduceRules& rules)
      : rules_(rules),
        base_timestamp_(batch.base_timestamp().value()),
        client_log_append_time_(batch.timestamp_type() == TimestampType::log_append_time),
        batch_max_timestamp_(batch.max_timestamp().value()),
        range_checked_(rules.timestamp_type == TimestampType::create_time),
        key_wanted_(rules.compacted) {}

  /// The record's time as every reader will see it.
  int64_t timestamp(const ParsedRecord& record) const {
    if (client_log_append_time_) [[unlikely]]
      return batch_max_timestamp_;
    return wrapping_difference(base_timestamp_, -static_cast<uint64_t>(record.timestamp_delta));
  }

  void check(int32_t index, const ParsedRecord& record) {
    if (key_wanted_ && record.key_bytes < 0) [[unlikely]]
      return key_missing(index);
    const int64_t time = timestamp(record);
    if (range_checked_ && time != no_timestamp.value()) [[likely]] {
      // Wraps for times further away than 64 bits count, as the check of Kafka does: they end up outside.
      const int64_t age = wrapping_difference(rules_.now.value(), static_cast<uint64_t>(time));
      const bool outside = age > rules_.timestamp_before_max_ms ||
                           wrapping_difference(0, static_cast<uint64_t>(age)) > rules_.timestamp_after_max_ms;
      if (outside) [[unlikely]]
        return timestamp_outside(index, time);
    } else if (client_log_append_time_) [[unlikely]] {
      return timestamp_type_wrong(index);
    }
    if (time > max_timestamp_) max_timestamp_ = time;
  }

  TimestampMs max_timestamp() const { return TimestampMs(max_timestamp_); }
  /// Refuses the batch if a record was wrong.
  std::expected<void, ProduceFailure> result();

 private:
  static int64_t wrapping_difference(int64_t a, uint64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - b);
  }
  void key_missing(int32_t index);
  void timestamp_outside(int32_t index, int64_t time);
  void timestamp_type_wrong(int32_t index);
  void add(int32_t index, std::string message);

  const ProduceRules& rules_;
  int64_t base_timestamp_;
  bool client_log_append_time_;
  int64_t batch_max_timestamp_;
  bool range_checked_;
  bool key_wanted_;
  int64_t max_timestamp_ = no_timestamp.value();
  bool bad_timestamp_ = false;
  int64_t error_count_ = 0;
  std::vector<RecordError> errors_;
};

struct RebuiltBatch {
  std::vector<std::byte> bytes;
  TimestampMs max_timestamp;
};

/// Compresses the records anew for a topic with a codec of its own, streaming: holds no more than the result,
/// which is given up once it is above max_message_bytes. Checks the records as it goes.
std::expected<RebuiltBatch, ProduceFailure> rebuild_batch(const RecordBatchView& batch, Codec source,
                                                          Compression target, const ProduceRules& rules);

/// One walk over the records of a batch that stays as it is; gives the largest timestamp.
std::expected<TimestampMs, ProduceFailure> check_records(const RecordBatchView& batch, Codec codec,
                                                         const ProduceRules& rules);

}  // namespace barnabas::protocol
