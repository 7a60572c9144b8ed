#include "protocol/records/batch_filter.h"

#include <algorithm>

#include "protocol/compression/compressor.h"
#include "protocol/records/compressed_records.h"
#include "protocol/records/record_parser.h"
#include "protocol/records/varint.h"

namespace barnabas::protocol {
namespace {

using namespace batch_format;

int64_t wrapping_difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrapping_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

/// Whether a compressed record is looked at piece by piece, because it is too large to be held.
bool is_streamed(const ParsedRecord& record) {
  return record.behind_offset_delta == nullptr;
}

/// Takes the key out of a record that passes by in pieces: a length, then so many bytes.
class KeyPieces final : public RecordBodySink {
 public:
  explicit KeyPieces(KeyVisitor& visitor) : visitor_(visitor) {}

  void begin(const ParsedRecord& record, int32_t, size_t) override {
    streamed_ = is_streamed(record);
    length_bytes_ = 0;
    length_known_ = false;
    left_ = 0;
  }
  void body(ByteView piece) override {
    if (!streamed_) return;
    while (!length_known_ && !piece.empty()) {
      length_[length_bytes_++] = piece.front();
      piece = piece.subspan(1);
      // The reader has checked that the number ends.
      if ((std::to_integer<unsigned>(length_[length_bytes_ - 1]) & 0x80U) != 0 &&
          length_bytes_ < varint_bytes_max)
        continue;
      const std::byte* at = length_;
      int32_t bytes = 0;
      length_known_ = true;
      if (read_varint(at, length_ + length_bytes_, bytes)) left_ = static_cast<size_t>(std::max(bytes, 0));
    }
    const ByteView key = piece.first(std::min(left_, piece.size()));
    if (!key.empty()) visitor_.key(key);
    left_ -= key.size();
  }

 private:
  KeyVisitor& visitor_;
  bool streamed_ = false;
  bool length_known_ = false;
  std::byte length_[varint_bytes_max] = {};
  size_t length_bytes_ = 0;
  size_t left_ = 0;
};

bool tell(KeyVisitor& visitor, const RecordBatchView& batch, const ParsedRecord& record) {
  if (!is_streamed(record) && record.key_bytes > 0)
    visitor.key(ByteView(record.key, static_cast<size_t>(record.key_bytes)));
  return visitor.record({.offset = offset_plus(batch.base_offset(), record.offset_delta),
                         .has_key = record.key_bytes >= 0,
                         .has_value = record.value_bytes >= 0});
}

/// Calls `each(record, size_bytes)` for every record; false ends the walk. `sink` gets compressed records as
/// they pass by.
template <class Each>
Result<void> walk(const RecordBatchView& batch, RecordBodySink* sink, Each&& each) {
  const std::optional<Codec> codec = batch.codec();
  if (!codec)
    return fail(ErrorKind::unsupported, "unknown codec " + std::to_string(batch.attributes() & codec_mask));
  const int32_t count = batch.record_count();
  if (count < 0) return fail(ErrorKind::invalid_record, to_string(RecordFault::count));
  if (*codec == Codec::none) {
    const ByteView records = batch.records_bytes();
    const std::byte* at = records.data();
    const std::byte* end = at + records.size();
    for (int32_t index = 0; index < count; ++index) {
      ParsedRecord record;
      int32_t size_bytes = 0;
      const RecordFault fault = parse_record(at, end, record, size_bytes);
      if (fault != RecordFault::none) return fail(ErrorKind::invalid_record, describe(fault, index));
      if (!each(record, size_bytes)) return {};
    }
    if (at != end) return fail(ErrorKind::invalid_record, to_string(RecordFault::bytes_left_in_batch));
    return {};
  }
  if (count == 0) return {};
  CompressedRecords records(*codec, batch.records_bytes(),
                            {.record_bytes_max = INT32_MAX, .whole_records = false, .sink = sink});
  CompressedRecords::Item item;
  for (int32_t index = 0; index < count; ++index) {
    item.record = {};
    BARNABAS_TRY(records.next(item, index));
    if (!each(item.record, item.size_bytes)) return {};
  }
  BARNABAS_ASSIGN(const bool ended, records.at_end());
  if (!ended) return fail(ErrorKind::invalid_record, to_string(RecordFault::bytes_left_in_batch));
  return {};
}

/// Writes the records that stay, as they pass by, straight into the new compressor.
class Filterer final : public RecordBodySink {
 public:
  Filterer(const RecordBatchView& batch, const BatchFilter& filter, Codec codec)
      : batch_(batch),
        filter_(filter),
        horizon_(filter.delete_horizon ? filter.delete_horizon : batch.header().delete_horizon()),
        base_timestamp_(horizon_.value_or(no_timestamp).value()),
        stream_(Compression{.codec = codec}),
        out_(header_bytes) {}

  void begin(const ParsedRecord& record, int32_t size_bytes, size_t prefix_bytes) override {
    keeps_ = filter_.kept[index_++] && !too_large_;
    if (!keeps_) return;
    const int64_t timestamp = batch_.timestamp_type() == TimestampType::log_append_time
                                  ? batch_.max_timestamp().value()
                                  : wrapping_sum(batch_.base_timestamp().value(), record.timestamp_delta);
    if (count_++ == 0 && !horizon_) base_timestamp_ = timestamp;
    max_timestamp_ = std::max(max_timestamp_, timestamp);
    const int64_t delta = wrapping_difference(timestamp, base_timestamp_);
    const size_t prefix_now = 1 + varlong_bytes(delta) + varint_bytes(record.offset_delta);
    const size_t size_now = static_cast<size_t>(size_bytes) - prefix_bytes + prefix_now;
    if (size_now > INT32_MAX) {
      too_large_ = true;
      return;
    }
    scratch_.clear();
    append_varint(scratch_, static_cast<int32_t>(size_now));
    scratch_.push_back(std::byte{0});
    append_varlong(scratch_, delta);
    append_varint(scratch_, record.offset_delta);
    body(scratch_);
  }
  void body(ByteView piece) override {
    if (!keeps_ || too_large_) return;
    stream_.write(piece, out_);
    too_large_ = out_.size() > filter_.size_max;
  }

  bool too_large() const { return too_large_; }

  std::optional<std::vector<std::byte>> finish() {
    if (!too_large_) stream_.finish(out_);
    if (too_large_ || out_.size() > filter_.size_max) return std::nullopt;
    RecordBatchHeader header = batch_.header();
    header.length = static_cast<int32_t>(out_.size() - log_overhead);
    if (horizon_) header.attributes = static_cast<int16_t>(header.attributes | delete_horizon_bit);
    header.base_timestamp = TimestampMs(base_timestamp_);
    if (header.timestamp_type() == TimestampType::create_time)
      header.max_timestamp = TimestampMs(max_timestamp_);
    header.record_count = count_;
    header.write(out_);
    seal(out_);
    return std::move(out_);
  }

 private:
  const RecordBatchView& batch_;
  const BatchFilter& filter_;
  const std::optional<TimestampMs> horizon_;
  int64_t base_timestamp_;
  int64_t max_timestamp_ = no_timestamp.value();
  CompressionStream stream_;
  std::vector<std::byte> out_;
  std::vector<std::byte> scratch_;
  std::size_t index_ = 0;
  int32_t count_ = 0;
  bool keeps_ = false;
  bool too_large_ = false;
};

}  // namespace

Result<void> visit_keys(const RecordBatchView& batch, KeyVisitor& visitor) {
  KeyPieces pieces(visitor);
  return walk(batch, &pieces,
              [&](const ParsedRecord& record, int32_t) { return tell(visitor, batch, record); });
}

Result<std::optional<std::vector<std::byte>>> filter_batch(const RecordBatchView& batch,
                                                           const BatchFilter& filter) {
  const Codec codec = batch.codec().value_or(Codec::none);  // walk() refuses an unknown one
  if (filter.kept.size() != static_cast<size_t>(std::max(batch.record_count(), 0)))
    return fail(ErrorKind::invalid, "a choice of " + std::to_string(filter.kept.size()) + " records for " +
                                        std::to_string(batch.record_count()));
  Filterer filterer(batch, filter, codec);
  BARNABAS_TRY(walk(batch, &filterer, [&](const ParsedRecord& record, int32_t size_bytes) {
    if (codec == Codec::none) {  // nobody has told the sink
      const ByteView body(record.behind_offset_delta, record.end);
      filterer.begin(record, size_bytes, static_cast<size_t>(size_bytes) - body.size());
      filterer.body(body);
    }
    return !filterer.too_large();
  }));
  return filterer.finish();
}

std::vector<std::byte> emptied_batch(const RecordBatchView& batch) {
  std::vector<std::byte> out(header_bytes);
  RecordBatchHeader header = batch.header();
  header.attributes = static_cast<int16_t>(header.attributes & ~(codec_mask | delete_horizon_bit));
  header.length = length_min;
  header.base_timestamp = no_timestamp;
  header.record_count = 0;
  header.write(out);
  seal(out);
  return out;
}

}  // namespace barnabas::protocol
