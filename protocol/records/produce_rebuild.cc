#include <algorithm>

#include "protocol/compression/compressor.h"
#include "protocol/records/compressed_records.h"
#include "protocol/records/produce_checks.h"
#include "protocol/records/varint.h"

namespace barnabas::protocol {
namespace {

using namespace batch_format;

/// Writes records with fresh offset and timestamp deltas, straight into the new compressor.
class Rebuilder final : public RecordBodySink {
 public:
  Rebuilder(const RecordBatchView& batch, Compression target, const ProduceRules& rules)
      : batch_(batch),
        target_(target),
        rules_(rules),
        checks_(batch, rules),
        stream_(target),
        size_max_(static_cast<size_t>(std::max(rules.max_message_bytes, 0))),
        out_(header_bytes) {}

  void begin(const ParsedRecord& record, int32_t size_bytes, size_t prefix_bytes) override {
    const int64_t timestamp = checks_.timestamp(record);
    if (index_ == 0) base_timestamp_ = timestamp;
    const auto delta =
        static_cast<int64_t>(static_cast<uint64_t>(timestamp) - static_cast<uint64_t>(base_timestamp_));
    const size_t prefix_now = 1 + varlong_bytes(delta) + varint_bytes(index_);
    const size_t size_now = static_cast<size_t>(size_bytes) - prefix_bytes + prefix_now;
    if (size_now > INT32_MAX) too_large_ = true;
    scratch_.clear();
    append_varint(scratch_, static_cast<int32_t>(size_now));
    scratch_.push_back(std::byte{0});
    append_varlong(scratch_, delta);
    append_varint(scratch_, index_);
    body(scratch_);
  }

  void body(ByteView piece) override {
    if (too_large_) return;
    stream_.write(piece, out_);
    too_large_ = out_.size() > size_max_;
  }

  void record_done(const ParsedRecord& record) { checks_.check(index_++, record); }

  std::expected<RebuiltBatch, ProduceFailure> finish() {
    if (auto result = checks_.result(); !result) return std::unexpected(std::move(result).error());
    if (!too_large_) stream_.finish(out_);
    if (too_large_ || out_.size() > size_max_) {
      return refuse(ErrorCode::message_too_large, "The batch is above max.message.bytes (" +
                                                      std::to_string(rules_.max_message_bytes) +
                                                      ") once it is compressed as the topic wants");
    }
    RecordBatchHeader header = batch_.header();
    const bool broker_time = rules_.timestamp_type == TimestampType::log_append_time;
    header.attributes =
        static_cast<int16_t>(static_cast<int>(target_.codec) | (broker_time ? timestamp_type_bit : 0) |
                             (header.attributes & (transactional_bit | control_bit)));
    header.length = static_cast<int32_t>(out_.size() - log_overhead);
    header.base_timestamp = TimestampMs(base_timestamp_);
    header.max_timestamp = broker_time ? rules_.now : checks_.max_timestamp();
    header.write(out_);
    seal(out_);
    return RebuiltBatch{std::move(out_), header.max_timestamp};
  }

 private:
  const RecordBatchView& batch_;
  Compression target_;
  const ProduceRules& rules_;
  RecordChecks checks_;
  CompressionStream stream_;
  size_t size_max_;
  std::vector<std::byte> out_;
  std::vector<std::byte> scratch_;
  int32_t index_ = 0;
  int64_t base_timestamp_ = 0;
  bool too_large_ = false;
};

std::expected<void, ProduceFailure> feed_plain(const RecordBatchView& batch, Rebuilder& rebuilder) {
  const ByteView records = batch.records_bytes();
  const std::byte* at = records.data();
  const std::byte* end = at + records.size();
  ParsedRecord record;
  int32_t size_bytes = 0;
  for (int32_t index = 0; index < batch.record_count(); ++index) {
    const RecordFault fault = parse_record(at, end, record, size_bytes);
    if (fault != RecordFault::none) return refuse(ErrorCode::invalid_record, describe(fault, index));
    const ByteView body(record.behind_offset_delta, record.end);
    rebuilder.begin(record, size_bytes, static_cast<size_t>(size_bytes) - body.size());
    rebuilder.body(body);
    rebuilder.record_done(record);
  }
  if (at != end) return refuse(ErrorCode::invalid_record, to_string(RecordFault::bytes_left_in_batch));
  return {};
}

std::expected<void, ProduceFailure> feed_compressed(const RecordBatchView& batch, Codec source,
                                                    const ProduceRules& rules, Rebuilder& rebuilder) {
  CompressedRecords records(
      source, batch.records_bytes(),
      {.record_bytes_max = rules.max_decompressed_message_bytes, .whole_records = false, .sink = &rebuilder});
  CompressedRecords::Item item;
  for (int32_t index = 0; index < batch.record_count(); ++index) {
    if (auto read = records.next(item, index); !read) {
      return refuse(ErrorCode::invalid_record, std::move(read).error().message);
    }
    rebuilder.record_done(item.record);
  }
  const Result<bool> ended = records.at_end();
  if (!ended) return refuse(ErrorCode::invalid_record, ended.error().message);
  if (!*ended) return refuse(ErrorCode::invalid_record, to_string(RecordFault::bytes_left_in_batch));
  return {};
}

}  // namespace

std::expected<RebuiltBatch, ProduceFailure> rebuild_batch(const RecordBatchView& batch, Codec source,
                                                          Compression target, const ProduceRules& rules) {
  Rebuilder rebuilder(batch, target, rules);
  auto fed =
      source == Codec::none ? feed_plain(batch, rebuilder) : feed_compressed(batch, source, rules, rebuilder);
  if (!fed) return std::unexpected(std::move(fed).error());
  return rebuilder.finish();
}

}  // namespace barnabas::protocol
