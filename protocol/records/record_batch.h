#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/endian.h"
#include "base/result.h"
#include "base/types.h"
#include "protocol/compression/codec.h"

namespace barnabas::protocol {

/// Record batch of format version 2 (magic 2, KIP-98): docs/formats/record-batch.md. Offsets of the fields in
/// bytes.
namespace batch_format {
inline constexpr size_t base_offset_at = 0;
inline constexpr size_t length_at = base_offset_at + 8;
inline constexpr size_t partition_leader_epoch_at = length_at + 4;
inline constexpr size_t magic_at = partition_leader_epoch_at + 4;
inline constexpr size_t crc_at = magic_at + 1;
inline constexpr size_t attributes_at = crc_at + 4;
inline constexpr size_t last_offset_delta_at = attributes_at + 2;
inline constexpr size_t base_timestamp_at = last_offset_delta_at + 4;
inline constexpr size_t max_timestamp_at = base_timestamp_at + 8;
inline constexpr size_t producer_id_at = max_timestamp_at + 8;
inline constexpr size_t producer_epoch_at = producer_id_at + 8;
inline constexpr size_t base_sequence_at = producer_epoch_at + 2;
inline constexpr size_t record_count_at = base_sequence_at + 4;
inline constexpr size_t records_at = record_count_at + 4;

/// Base offset and length, which the length does not count.
inline constexpr size_t log_overhead = partition_leader_epoch_at;
/// A whole batch without any record.
inline constexpr size_t header_bytes = records_at;
/// Smallest legal value of the length field of a batch of version 2.
inline constexpr int32_t length_min = header_bytes - log_overhead;
/// Smallest legal value of the length field in any version (a message of version 0 without key and value).
inline constexpr int32_t old_length_min = 14;
/// The CRC-32C covers everything from here to the end of the batch.
inline constexpr size_t crc_from = attributes_at;
inline constexpr int8_t magic = 2;

inline constexpr int16_t codec_mask = 0x07;
inline constexpr int16_t timestamp_type_bit = 0x08;
inline constexpr int16_t transactional_bit = 0x10;
inline constexpr int16_t control_bit = 0x20;
inline constexpr int16_t delete_horizon_bit = 0x40;

static_assert(crc_at == 17 && attributes_at == 21 && max_timestamp_at == 35 && producer_id_at == 43);
static_assert(header_bytes == 61 && log_overhead == 12 && length_min == 49);
}  // namespace batch_format

/// Offset of a record `delta` behind `base`. Wraps instead of overflowing: both may come from hostile bytes.
constexpr Offset offset_plus(Offset base, int64_t delta) {
  return Offset(static_cast<int64_t>(static_cast<uint64_t>(base.value()) + static_cast<uint64_t>(delta)));
}

enum class TimestampType : uint8_t { create_time = 0, log_append_time = 1 };

/// The fields of a batch as they stand on the wire; nothing is checked here but what parse() says.
struct RecordBatchHeader {
  Offset base_offset{0};
  int32_t length = batch_format::length_min;
  LeaderEpoch partition_leader_epoch = no_leader_epoch;
  int8_t magic = batch_format::magic;
  uint32_t crc = 0;
  int16_t attributes = 0;
  int32_t last_offset_delta = 0;
  TimestampMs base_timestamp{0};  ///< the delete horizon when the attribute bit 6 is set
  TimestampMs max_timestamp{0};
  ProducerId producer_id = no_producer_id;
  ProducerEpoch producer_epoch = no_producer_epoch;
  int32_t base_sequence = no_sequence;
  int32_t record_count = 0;

  bool operator==(const RecordBatchHeader&) const = default;

  /// Reads the 61 bytes of a header. ErrorKind::corrupt: too few bytes, a length below the minimum or an
  /// unknown magic; ErrorKind::unsupported: an old message (magic 0 or 1).
  static Result<RecordBatchHeader> parse(ByteView bytes);
  /// Writes the 61 bytes, the checksum as it stands in the struct. `into` must hold them.
  void write(MutableByteView into) const;

  /// The whole batch, with base offset and length.
  size_t size_bytes() const { return batch_format::log_overhead + static_cast<size_t>(length); }
  Offset last_offset() const { return offset_plus(base_offset, last_offset_delta); }
  Offset next_offset() const { return offset_plus(base_offset, int64_t{last_offset_delta} + 1); }
  int codec_id() const { return attributes & batch_format::codec_mask; }
  /// Nothing when the id is unknown.
  std::optional<Codec> codec() const { return codec_from_id(codec_id()); }
  TimestampType timestamp_type() const {
    return (attributes & batch_format::timestamp_type_bit) != 0 ? TimestampType::log_append_time
                                                                : TimestampType::create_time;
  }
  bool is_transactional() const { return (attributes & batch_format::transactional_bit) != 0; }
  bool is_control() const { return (attributes & batch_format::control_bit) != 0; }
  bool has_producer_id() const { return producer_id > no_producer_id; }
  std::optional<TimestampMs> delete_horizon() const {
    if ((attributes & batch_format::delete_horizon_bit) == 0) return std::nullopt;
    return base_timestamp;
  }
  /// -1 without a sequence; wraps from 2^31 - 1 to 0 as the producer's counter does.
  int32_t last_sequence() const;
};

/// Sequence number `increment` records after `sequence`: 0 follows 2^31 - 1.
int32_t sequence_plus(int32_t sequence, int32_t increment);

/// One whole batch of version 2 in memory of somebody else, who must outlive the view. Reading a field costs
/// a load.
class RecordBatchView {
 public:
  /// The batch at the front of `bytes`; what follows it is left out of the view. ErrorKind::corrupt: length
  /// below the minimum, unknown magic, or fewer bytes than the length says; ErrorKind::unsupported: magic 0
  /// or 1. The checksum is not checked.
  static Result<RecordBatchView> parse(ByteView bytes);
  /// For bytes that parse() or BatchIterator found good before.
  static RecordBatchView trusted(ByteView whole_batch) { return RecordBatchView(whole_batch); }

  ByteView bytes() const { return bytes_; }
  size_t size_bytes() const { return bytes_.size(); }
  /// What follows the header, as it stands (compressed when codec() says so).
  ByteView records_bytes() const { return bytes_.subspan(batch_format::records_at); }
  RecordBatchHeader header() const;

  Offset base_offset() const { return Offset(load<int64_t>(batch_format::base_offset_at)); }
  Offset last_offset() const { return offset_plus(base_offset(), last_offset_delta()); }
  Offset next_offset() const { return offset_plus(base_offset(), int64_t{last_offset_delta()} + 1); }
  LeaderEpoch partition_leader_epoch() const {
    return LeaderEpoch(load<int32_t>(batch_format::partition_leader_epoch_at));
  }
  uint32_t crc() const { return load<uint32_t>(batch_format::crc_at); }
  int16_t attributes() const { return load<int16_t>(batch_format::attributes_at); }
  int32_t last_offset_delta() const { return load<int32_t>(batch_format::last_offset_delta_at); }
  TimestampMs base_timestamp() const { return TimestampMs(load<int64_t>(batch_format::base_timestamp_at)); }
  TimestampMs max_timestamp() const { return TimestampMs(load<int64_t>(batch_format::max_timestamp_at)); }
  ProducerId producer_id() const { return ProducerId(load<int64_t>(batch_format::producer_id_at)); }
  ProducerEpoch producer_epoch() const {
    return ProducerEpoch(load<int16_t>(batch_format::producer_epoch_at));
  }
  int32_t base_sequence() const { return load<int32_t>(batch_format::base_sequence_at); }
  int32_t last_sequence() const;
  int32_t record_count() const { return load<int32_t>(batch_format::record_count_at); }
  std::optional<Codec> codec() const { return codec_from_id(attributes() & batch_format::codec_mask); }
  TimestampType timestamp_type() const {
    return (attributes() & batch_format::timestamp_type_bit) != 0 ? TimestampType::log_append_time
                                                                  : TimestampType::create_time;
  }
  bool is_transactional() const { return (attributes() & batch_format::transactional_bit) != 0; }
  bool is_control() const { return (attributes() & batch_format::control_bit) != 0; }
  bool has_producer_id() const { return producer_id() > no_producer_id; }

  /// One pass over the bytes from the attributes on. A stored checksum of 0 is a checksum like any other.
  uint32_t computed_crc() const;
  bool verify_crc() const { return computed_crc() == crc(); }

 private:
  explicit RecordBatchView(ByteView bytes) : bytes_(bytes) {}
  template <class T>
  T load(size_t at) const {
    return load_big_endian<T>(bytes_.data() + at);
  }
  ByteView bytes_;
};

/// What a log checks of a batch that another broker or an earlier run has accepted: whole, magic 2, checksum,
/// a sane offset range. The records are not looked at. ErrorKind::corrupt or unsupported (magic 0 and 1).
Result<RecordBatchView> validate_stored_batch(ByteView bytes);

// Changes in place. The first two lie outside of the checksum; the others end with a new one (one pass).
void set_base_offset(MutableByteView batch, Offset base_offset);
void set_partition_leader_epoch(MutableByteView batch, LeaderEpoch epoch);
/// What a broker may have to correct on append. Does nothing, and makes no pass, when all is as wished
/// already. Returns whether something changed.
bool set_timestamps(MutableByteView batch, TimestampType type, TimestampMs max_timestamp);
/// Writes the checksum that fits the bytes.
void seal(MutableByteView batch);

/// Walks over batches that stand one behind the other, as in a log file or a Produce request.
class BatchIterator {
 public:
  enum class Step {
    batch,           ///< a whole batch of version 2: batch()
    old_message,     ///< a whole message of version 0 or 1: old_message()
    end,             ///< no bytes left
    torn,            ///< the bytes end within a batch; remaining() has them
    zero_length,     ///< the length field is 0: preallocated space, or damage
    corrupt_length,  ///< a length too small for any batch, or above `batch_bytes_max`
    unknown_magic,   ///< neither 0, 1 nor 2
  };

  /// `batch_bytes_max` bounds what is believed of a length field (the whole batch).
  explicit BatchIterator(ByteView bytes, size_t batch_bytes_max = INT32_MAX)
      : rest_(bytes), batch_bytes_max_(batch_bytes_max) {}

  /// Goes to the next; after anything but batch and old_message it stays where it is and says the same again.
  Step next();

  const RecordBatchView& batch() const { return *batch_; }
  ByteView old_message() const { return old_message_; }
  /// Where the batch of the last next() began, or where the walk stopped; from the start of the bytes.
  size_t position() const { return position_; }
  /// Everything from position() on, if the walk has stopped.
  ByteView remaining() const { return rest_; }

 private:
  ByteView rest_;
  size_t batch_bytes_max_;
  size_t position_ = 0;
  size_t consumed_ = 0;
  std::optional<RecordBatchView> batch_;
  ByteView old_message_;
};

}  // namespace barnabas::protocol
