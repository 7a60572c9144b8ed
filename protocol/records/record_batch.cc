#include "protocol/records/record_batch.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "base/crc32c.h"

namespace barnabas::protocol {

using namespace batch_format;

namespace {

template <class T>
T load(ByteView bytes, size_t at) {
  return load_big_endian<T>(bytes.data() + at);
}

template <class T>
void store(MutableByteView bytes, size_t at, T value) {
  store_big_endian<T>(bytes.data() + at, value);
}

Result<void> check_front(ByteView bytes) {
  if (bytes.size() < header_bytes) {
    return fail(ErrorKind::corrupt,
                "record batch of " + std::to_string(bytes.size()) + " bytes, a header has 61");
  }
  const auto length = load<int32_t>(bytes, length_at);
  const auto version = load<int8_t>(bytes, magic_at);
  if (version == 0 || version == 1) {
    return fail(ErrorKind::unsupported, "message format " + std::to_string(version) + ", expected 2");
  }
  if (version != magic) {
    return fail(ErrorKind::corrupt, "unknown message format " + std::to_string(version) + ", expected 2");
  }
  if (length < length_min) {
    return fail(ErrorKind::corrupt, "record batch length " + std::to_string(length) + ", the least is 49");
  }
  return {};
}

}  // namespace

Result<RecordBatchHeader> RecordBatchHeader::parse(ByteView bytes) {
  BARNABAS_TRY(check_front(bytes));
  return RecordBatchView::trusted(bytes).header();
}

void RecordBatchHeader::write(MutableByteView into) const {
  BARNABAS_ASSERT(into.size() >= header_bytes);
  store(into, base_offset_at, base_offset.value());
  store(into, length_at, length);
  store(into, partition_leader_epoch_at, partition_leader_epoch.value());
  store(into, magic_at, magic);
  store(into, crc_at, crc);
  store(into, attributes_at, attributes);
  store(into, last_offset_delta_at, last_offset_delta);
  store(into, base_timestamp_at, base_timestamp.value());
  store(into, max_timestamp_at, max_timestamp.value());
  store(into, producer_id_at, producer_id.value());
  store(into, producer_epoch_at, producer_epoch.value());
  store(into, base_sequence_at, base_sequence);
  store(into, record_count_at, record_count);
}

int32_t sequence_plus(int32_t sequence, int32_t increment) {
  return static_cast<int32_t>((int64_t{sequence} + increment) & INT32_MAX);
}

int32_t RecordBatchHeader::last_sequence() const {
  return base_sequence == no_sequence ? no_sequence : sequence_plus(base_sequence, last_offset_delta);
}

int32_t RecordBatchView::last_sequence() const {
  return base_sequence() == no_sequence ? no_sequence : sequence_plus(base_sequence(), last_offset_delta());
}

Result<RecordBatchView> RecordBatchView::parse(ByteView bytes) {
  BARNABAS_TRY(check_front(bytes));
  const size_t size =
      log_overhead + static_cast<size_t>(::barnabas::protocol::load<int32_t>(bytes, length_at));
  if (size > bytes.size()) {
    return fail(ErrorKind::corrupt, "record batch of " + std::to_string(size) + " bytes, only " +
                                        std::to_string(bytes.size()) + " are there");
  }
  return RecordBatchView(bytes.first(size));
}

RecordBatchHeader RecordBatchView::header() const {
  return {.base_offset = base_offset(),
          .length = load<int32_t>(length_at),
          .partition_leader_epoch = partition_leader_epoch(),
          .magic = load<int8_t>(magic_at),
          .crc = crc(),
          .attributes = attributes(),
          .last_offset_delta = last_offset_delta(),
          .base_timestamp = base_timestamp(),
          .max_timestamp = max_timestamp(),
          .producer_id = producer_id(),
          .producer_epoch = producer_epoch(),
          .base_sequence = base_sequence(),
          .record_count = record_count()};
}

uint32_t RecordBatchView::computed_crc() const {
  return crc32c(bytes_.subspan(crc_from));
}

Result<RecordBatchView> validate_stored_batch(ByteView bytes) {
  BARNABAS_ASSIGN(const RecordBatchView batch, RecordBatchView::parse(bytes));
  if (const uint32_t computed = batch.computed_crc(); computed != batch.crc()) {
    return fail(ErrorKind::corrupt, "record batch at offset " + std::to_string(batch.base_offset().value()) +
                                        ": checksum " + std::to_string(computed) + ", the header says " +
                                        std::to_string(batch.crc()));
  }
  const bool offsets_sane = batch.base_offset() >= Offset{0} && batch.last_offset_delta() >= 0 &&
                            batch.base_offset().value() <= INT64_MAX - batch.last_offset_delta() - 1;
  if (!offsets_sane || batch.record_count() < 0) {
    return fail(ErrorKind::corrupt, "record batch with base offset " +
                                        std::to_string(batch.base_offset().value()) + ", last offset delta " +
                                        std::to_string(batch.last_offset_delta()) + " and " +
                                        std::to_string(batch.record_count()) + " records");
  }
  return batch;
}

void set_base_offset(MutableByteView batch, Offset base_offset) {
  BARNABAS_ASSERT(batch.size() >= header_bytes);
  store(batch, base_offset_at, base_offset.value());
}

void set_partition_leader_epoch(MutableByteView batch, LeaderEpoch epoch) {
  BARNABAS_ASSERT(batch.size() >= header_bytes);
  store(batch, partition_leader_epoch_at, epoch.value());
}

bool set_timestamps(MutableByteView batch, TimestampType type, TimestampMs max_timestamp) {
  BARNABAS_ASSERT(batch.size() >= header_bytes);
  const RecordBatchView view = RecordBatchView::trusted(batch);
  if (view.timestamp_type() == type && view.max_timestamp() == max_timestamp) return false;
  // Kafka drops the unused bits whenever it writes the attributes, and only then.
  const int bits = view.attributes() & (codec_mask | transactional_bit | control_bit | delete_horizon_bit);
  store(batch, attributes_at,
        static_cast<int16_t>(type == TimestampType::log_append_time ? bits | timestamp_type_bit : bits));
  store(batch, max_timestamp_at, max_timestamp.value());
  seal(batch);
  return true;
}

void seal(MutableByteView batch) {
  BARNABAS_ASSERT(batch.size() >= header_bytes);
  store(batch, crc_at, RecordBatchView::trusted(batch).computed_crc());
}

BatchIterator::Step BatchIterator::next() {
  position_ += consumed_;
  rest_ = rest_.subspan(consumed_);
  consumed_ = 0;
  // The checks stand in the order of Kafka's reader: a bad length or version counts even when the bytes end
  // early.
  if (rest_.empty()) return Step::end;
  if (rest_.size() < log_overhead) return Step::torn;
  const auto length = ::barnabas::protocol::load<int32_t>(rest_, length_at);
  if (length == 0) return Step::zero_length;
  if (length < old_length_min) return Step::corrupt_length;
  const size_t size = log_overhead + static_cast<size_t>(length);
  if (size > batch_bytes_max_) return Step::corrupt_length;
  if (rest_.size() <= magic_at) return Step::torn;
  const auto version = ::barnabas::protocol::load<int8_t>(rest_, magic_at);
  if (version < 0 || version > magic) return Step::unknown_magic;
  if (version == magic && length < length_min) return Step::corrupt_length;
  if (size > rest_.size()) return Step::torn;
  consumed_ = size;
  if (version != magic) {
    old_message_ = rest_.first(size);
    return Step::old_message;
  }
  batch_ = RecordBatchView::trusted(rest_.first(size));
  return Step::batch;
}

}  // namespace barnabas::protocol
