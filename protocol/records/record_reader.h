#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "protocol/records/record_batch.h"

namespace barnabas::protocol {

class CompressedRecords;

struct RecordHeader {
  std::string_view key;
  std::optional<ByteView> value;  ///< nothing: null
};

/// The headers of one record, decoded one after the other: `for (RecordHeader header : record.headers())`.
/// Only made from bytes that were checked.
class RecordHeaders {
 public:
  RecordHeaders() = default;
  RecordHeaders(ByteView bytes, int32_t count) : bytes_(bytes), count_(count) {}

  class Iterator {
   public:
    using value_type = RecordHeader;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(ByteView rest, int32_t left);
    const RecordHeader& operator*() const { return header_; }
    const RecordHeader* operator->() const { return &header_; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    void load();
    ByteView rest_;
    int32_t left_ = 0;
    RecordHeader header_;
  };
  Iterator begin() const { return Iterator(bytes_, count_); }
  Iterator end() const { return {}; }
  int32_t size() const { return count_; }
  /// As they stand in the record, without the count in front.
  ByteView bytes() const { return bytes_; }

 private:
  ByteView bytes_;
  int32_t count_ = 0;
};

/// One record. Views last until the next call of the reader that gave it.
struct RecordView {
  int32_t size_bytes = 0;  ///< as the length in front of the record says, without that length
  int8_t attributes = 0;   ///< unused by the format
  int32_t offset_delta = 0;
  Offset offset;
  TimestampMs timestamp;  ///< the batch's max timestamp for LogAppendTime, whatever the record says
  int64_t timestamp_delta = 0;
  int32_t key_bytes = -1;  ///< -1: null
  int32_t value_bytes = -1;
  int32_t header_count = 0;
  bool has_contents = true;  ///< false in ReadMode::structure for a record that was skipped over

  /// Nothing when null. Only with has_contents.
  std::optional<ByteView> key() const { return key_bytes < 0 ? std::nullopt : std::optional(key_view); }
  std::optional<ByteView> value() const { return value_bytes < 0 ? std::nullopt : std::optional(value_view); }
  RecordHeaders headers() const { return RecordHeaders(headers_view, header_count); }

  ByteView key_view, value_view, headers_view;
};

enum class ReadMode {
  contents,   ///< keys, values and headers are there; a record above the limit is an error
  structure,  ///< checked and counted just the same, but large compressed records are skipped in a stream
};

struct RecordReaderOptions {
  ReadMode mode = ReadMode::contents;
  /// A longer record of a compressed batch is ErrorKind::too_large. In ReadMode::contents it bounds the
  /// memory too.
  int64_t record_bytes_max = 2147483639;
};

/// Reads the records of a batch in order, and checks while going: every varint, length and count, that each
/// record fills its length exactly, that there are as many as the header says, and that nothing follows the
/// last. Plain batches are read in place. Compressed ones are decompressed through a buffer of 192 KiB that
/// grows only for a larger record in ReadMode::contents. The batch's bytes must outlive the reader. The
/// checksum is the caller's.
class RecordReader {
 public:
  explicit RecordReader(const RecordBatchView& batch, RecordReaderOptions options = {});
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;
  ~RecordReader();

  /// False at the end. ErrorKind::invalid_record: the structure is wrong; corrupt: the content does not
  /// decompress; unsupported: unknown codec; too_large: see options. After an error every call gives it
  /// again.
  Result<bool> next(RecordView& record);

 private:
  Result<bool> read(RecordView& record);
  Result<bool> check_end();

  RecordBatchView batch_;
  int32_t record_count_;
  int32_t records_read_ = 0;
  ByteView plain_;                             // what is left of a plain batch
  std::unique_ptr<CompressedRecords> stream_;  // only for compressed batches
  std::optional<Error> error_;
};

struct OffsetAndTimestamp {
  Offset offset;
  TimestampMs timestamp;
  bool operator==(const OffsetAndTimestamp&) const = default;
};

/// The first record with a timestamp of at least `target` and an offset of at least `from`, for ListOffsets
/// by time; nothing if the batch has none. Every record of a LogAppendTime batch has the batch's max
/// timestamp.
Result<std::optional<OffsetAndTimestamp>> find_first_record_at_or_after(const RecordBatchView& batch,
                                                                        TimestampMs target,
                                                                        Offset from = Offset{0});

/// The first record that has the batch's largest timestamp, for ListOffsets with -3; nothing in a batch
/// without records or whose max timestamp no record has.
Result<std::optional<OffsetAndTimestamp>> find_max_timestamp_record(const RecordBatchView& batch);

}  // namespace barnabas::protocol
