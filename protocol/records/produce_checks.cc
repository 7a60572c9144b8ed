#include "protocol/records/produce_checks.h"

#include <limits>

#include "protocol/records/compressed_records.h"

namespace barnabas::protocol {
namespace {

constexpr int32_t none_wrong = -1;

std::expected<TimestampMs, ProduceFailure> check_plain_records(const RecordBatchView& batch,
                                                               const ProduceRules& rules) {
  RecordChecks checks(batch, rules);
  const ByteView records = batch.records_bytes();
  const std::byte* at = records.data();
  const std::byte* end = at + records.size();
  const int32_t count = batch.record_count();
  ParsedRecord record;
  int32_t size_bytes = 0;
  for (int32_t index = 0; index < count; ++index) {
    const RecordFault fault = parse_record(at, end, record, size_bytes);
    if (fault != RecordFault::none) [[unlikely]]
      return refuse(ErrorCode::invalid_record, describe(fault, index));
    checks.check(index, record);
  }
  if (at != end) return refuse(ErrorCode::invalid_record, to_string(RecordFault::bytes_left_in_batch));
  if (auto result = checks.result(); !result) return std::unexpected(std::move(result).error());
  return checks.max_timestamp();
}

std::expected<TimestampMs, ProduceFailure> check_compressed_records(const RecordBatchView& batch, Codec codec,
                                                                    const ProduceRules& rules) {
  RecordChecks checks(batch, rules);
  CompressedRecords records(
      codec, batch.records_bytes(),
      {.record_bytes_max = rules.max_decompressed_message_bytes, .whole_records = false});
  const int32_t count = batch.record_count();
  CompressedRecords::Item item;
  int32_t wrong_delta_at = none_wrong;
  for (int32_t index = 0; index < count; ++index) {
    if (auto read = records.next(item, index); !read) {
      return refuse(ErrorCode::invalid_record, std::move(read).error().message);
    }
    checks.check(index, item.record);
    if (item.record.offset_delta != index && wrong_delta_at == none_wrong) wrong_delta_at = index;
  }
  const Result<bool> ended = records.at_end();
  if (!ended) return refuse(ErrorCode::invalid_record, ended.error().message);
  if (!*ended) return refuse(ErrorCode::invalid_record, to_string(RecordFault::bytes_left_in_batch));
  if (auto result = checks.result(); !result) return std::unexpected(std::move(result).error());
  if (wrong_delta_at != none_wrong) {
    return refuse(ErrorCode::invalid_record,
                  "record " + std::to_string(wrong_delta_at) + ": wrong offset delta");
  }
  return checks.max_timestamp();
}

}  // namespace

std::expected<TimestampMs, ProduceFailure> check_records(const RecordBatchView& batch, Codec codec,
                                                         const ProduceRules& rules) {
  return codec == Codec::none ? check_plain_records(batch, rules)
                              : check_compressed_records(batch, codec, rules);
}

void RecordChecks::key_missing(int32_t index) {
  add(index, "A record of a compacted topic needs a key");
}

void RecordChecks::timestamp_outside(int32_t index, int64_t time) {
  bad_timestamp_ = true;
  const int64_t now = rules_.now.value();
  const int64_t oldest = wrapping_difference(now, static_cast<uint64_t>(rules_.timestamp_before_max_ms));
  const int64_t newest = wrapping_difference(now, -static_cast<uint64_t>(rules_.timestamp_after_max_ms));
  add(index, "Timestamp " + std::to_string(time) + " is out of range: it should be within [" +
                 std::to_string(oldest) + ", " + std::to_string(newest) + "]");
}

void RecordChecks::timestamp_type_wrong(int32_t index) {
  bad_timestamp_ = true;
  add(index, "A producer may not set the timestamp type LogAppendTime");
}

void RecordChecks::add(int32_t index, std::string message) {
  ++error_count_;
  if (errors_.size() < record_errors_max) errors_.push_back({index, std::move(message)});
}

std::expected<void, ProduceFailure> RecordChecks::result() {
  if (error_count_ == 0) return {};
  const std::string count = std::to_string(error_count_);
  ProduceFailure failure{ErrorCode::invalid_record,
                         count + " records were refused; first: " + errors_[0].message, std::move(errors_)};
  if (bad_timestamp_) {
    failure.error = ErrorCode::invalid_timestamp;
    failure.message = count + " records were refused, some for their timestamp";
  }
  return std::unexpected(std::move(failure));
}

}  // namespace barnabas::protocol
