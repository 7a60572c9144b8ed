#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/types.h"
#include "protocol/compression/decompressor.h"
#include "protocol/records/record_parser.h"

namespace barnabas::protocol {

/// Takes records over while they are read, without anybody holding one as a whole. Inner type of the records
/// code.
class RecordBodySink {
 public:
  virtual ~RecordBodySink() = default;
  /// A record begins: its attributes and deltas are known, which took `prefix_bytes`; size_bytes -
  /// prefix_bytes follow.
  virtual void begin(const ParsedRecord& record, int32_t size_bytes, size_t prefix_bytes) = 0;
  /// The next bytes behind the offset delta: key, value and headers as they stand.
  virtual void body(ByteView piece) = 0;
};

/// The records of a compressed batch, one after the other, through a buffer. Inner type of the records code;
/// RecordReader is for everybody else.
class CompressedRecords {
 public:
  struct Options {
    int64_t record_bytes_max;
    /// Grow the buffer so that each record can be looked at as a whole; otherwise larger ones are skipped in
    /// a stream.
    bool whole_records;
    RecordBodySink* sink = nullptr;
  };
  struct Item {
    ParsedRecord record;
    int32_t size_bytes = 0;
    bool has_contents = true;  ///< false: streamed through, the pointers of `record` are null
  };

  CompressedRecords(Codec codec, ByteView compressed, Options options)
      : stream_(codec, compressed), options_(options) {}
  CompressedRecords(const CompressedRecords&) = delete;
  CompressedRecords& operator=(const CompressedRecords&) = delete;
  ~CompressedRecords();

  /// Reads the record with number `index` (for messages). Errors as RecordReader.
  Result<void> next(Item& item, int64_t index);
  /// Whether nothing follows; reads on to the end of the compressed stream, and so to its checksum.
  Result<bool> at_end();

 private:
  /// Records up to this size are looked at as a whole.
  static constexpr size_t whole_bytes_max = 64 * 1024;
  /// Leaves room behind the rest of such a record for two blocks of lz4, so that they are decompressed in
  /// place.
  static constexpr size_t buffer_bytes = 3 * 64 * 1024;

  size_t buffered() const { return end_ - at_; }
  Result<void> fill(size_t wanted);
  void grow();
  Result<RecordFault> whole(Item& item);
  Result<RecordFault> streamed(Item& item);
  Result<RecordFault> streamed_headers(int32_t count);
  Result<RecordFault> number(int32_t& value);
  Result<RecordFault> skip(int32_t bytes, RecordFault too_long);
  void consume(size_t bytes);

  DecompressionStream stream_;
  Options options_;
  std::unique_ptr<std::byte[]> buffer_;
  size_t capacity_ = 0;
  size_t at_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
  // While a record is streamed: what is left of it, and whether the sink wants it.
  size_t record_left_ = 0;
  bool to_sink_ = false;
};

}  // namespace barnabas::protocol
