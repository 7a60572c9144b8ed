#include "protocol/records/produce_validation.h"

#include <algorithm>

#include "protocol/records/produce_checks.h"

namespace barnabas::protocol {
namespace {

constexpr int16_t zstd_from_produce_version = 7;

/// The one whole batch of the request, or why there is none.
std::expected<RecordBatchView, ProduceFailure> find_only_batch(ByteView records, const ProduceRules& rules) {
  BatchIterator batches(records);
  switch (batches.next()) {
    case BatchIterator::Step::batch:
      break;
    case BatchIterator::Step::old_message:
      return refuse(ErrorCode::invalid_record, "Only record batches of magic version 2 may be produced");
    case BatchIterator::Step::end:
    case BatchIterator::Step::torn:
      return refuse(ErrorCode::invalid_record, "There must be one whole record batch for each partition");
    case BatchIterator::Step::zero_length:
    case BatchIterator::Step::corrupt_length:
      return refuse(ErrorCode::corrupt_message, "The length of the record batch is corrupt");
    case BatchIterator::Step::unknown_magic:
      return refuse(ErrorCode::corrupt_message, "The magic version of the record batch is unknown");
  }
  const RecordBatchView batch = batches.batch();
  if (rules.produce_version < zstd_from_produce_version && batch.codec() == Codec::zstd) {
    return refuse(ErrorCode::unsupported_compression_type, "zstd may be produced from version 7 on");
  }
  switch (batches.next()) {
    case BatchIterator::Step::end:
    case BatchIterator::Step::torn:
      return batch;  // bytes behind a whole batch that are none are dropped
    case BatchIterator::Step::batch:
    case BatchIterator::Step::old_message:
      return refuse(ErrorCode::invalid_record, "There must be exactly one record batch for each partition");
    default:
      return refuse(ErrorCode::corrupt_message, "What follows the record batch is corrupt");
  }
}

std::expected<RecordBatchView, ProduceFailure> only_batch(std::optional<MutableByteView> records,
                                                          const ProduceRules& rules) {
  std::expected<RecordBatchView, ProduceFailure> batch =
      records ? find_only_batch(*records, rules) : refuse(ErrorCode::invalid_record, "The records are null");
  if (!batch) batch.error().malformed = true;
  return batch;
}

/// What the header alone shows, and the checksum.
std::expected<Codec, ProduceFailure> check_header(const RecordBatchView& batch, const ProduceRules& rules) {
  if (batch.base_offset() != Offset{0}) {
    return refuse(ErrorCode::invalid_record,
                  "The base offset should be 0, but it is " + std::to_string(batch.base_offset().value()));
  }
  if (batch.size_bytes() > static_cast<size_t>(std::max(rules.max_message_bytes, 0))) {
    return refuse(ErrorCode::message_too_large, "The record batch has " + std::to_string(batch.size_bytes()) +
                                                    " bytes, max.message.bytes is " +
                                                    std::to_string(rules.max_message_bytes));
  }
  if (!batch.verify_crc())
    return refuse(ErrorCode::corrupt_message, "The record batch does not fit its checksum");
  const std::optional<Codec> codec = batch.codec();
  if (!codec) return refuse(ErrorCode::invalid_record, "The compression type of the record batch is unknown");
  const int64_t offsets = int64_t{batch.last_offset_delta()} + 1;
  if (offsets <= 0 || batch.record_count() <= 0 || offsets != batch.record_count()) {
    return refuse(ErrorCode::invalid_record, "The record batch counts " +
                                                 std::to_string(batch.record_count()) + " records in " +
                                                 std::to_string(offsets) + " offsets");
  }
  if (batch.is_control()) return refuse(ErrorCode::invalid_record, "Clients may not write control records");
  if (batch.has_producer_id() && batch.base_sequence() < 0) {
    return refuse(ErrorCode::invalid_record,
                  "A record batch with a producer id needs a sequence number, not " +
                      std::to_string(batch.base_sequence()));
  }
  return *codec;
}

ValidatedBatch describe_batch(MutableByteView bytes, Codec codec, const ProduceRules& rules) {
  const RecordBatchView batch = RecordBatchView::trusted(bytes);
  ValidatedBatch validated;
  validated.bytes = bytes;
  validated.record_count = batch.record_count();
  validated.last_offset_delta = batch.last_offset_delta();
  validated.time_index_offset_delta = validated.last_offset_delta;
  validated.max_timestamp = batch.max_timestamp();
  validated.producer_id = batch.producer_id();
  validated.producer_epoch = batch.producer_epoch();
  validated.base_sequence = batch.base_sequence();
  validated.transactional = batch.is_transactional();
  validated.control = batch.is_control();
  if (rules.timestamp_type == TimestampType::log_append_time) validated.log_append_time = rules.now;
  validated.codec = codec;
  return validated;
}

}  // namespace

std::expected<ValidatedBatch, ProduceFailure> validate_produced_records(
    std::optional<MutableByteView> records, const ProduceRules& rules) {
  const auto batch = only_batch(records, rules);
  if (!batch) return std::unexpected(batch.error());
  const auto codec = check_header(*batch, rules);
  if (!codec) return std::unexpected(codec.error());

  if (rules.target_compression && rules.target_compression->codec != *codec) {
    auto rebuilt = rebuild_batch(*batch, *codec, *rules.target_compression, rules);
    if (!rebuilt) return std::unexpected(std::move(rebuilt).error());
    ValidatedBatch validated = describe_batch(rebuilt->bytes, rules.target_compression->codec, rules);
    validated.owned = std::move(rebuilt->bytes);
    return validated;
  }

  TimestampMs max_timestamp = batch->max_timestamp();
  if (rules.check_contents) {
    const auto checked = check_records(*batch, *codec, rules);
    if (!checked) return std::unexpected(checked.error());
    max_timestamp = *checked;
  }
  const bool broker_time = rules.timestamp_type == TimestampType::log_append_time;
  const MutableByteView bytes = records->first(batch->size_bytes());
  set_timestamps(bytes, rules.timestamp_type, broker_time ? rules.now : max_timestamp);
  return describe_batch(bytes, *codec, rules);
}

}  // namespace barnabas::protocol
