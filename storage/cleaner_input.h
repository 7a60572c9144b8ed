#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/disk.h"
#include "protocol/records/record_batch.h"

namespace barnabas::storage {

/// Reads the batches of a segment for compaction, a buffer of them at a time, each verified: what is damaged
/// must not get a fresh checksum. The file must outlive it.
class CleanerInput {
 public:
  /// From the batch that begins at position `from`, up to `end`. The buffer has `buffer_bytes`; it grows for
  /// a batch of up to `batch_bytes_max`, and for a larger one only after its checksum was found good piece by
  /// piece: the limit may have been lower when it was written, but a damaged length must not cost memory.
  /// Offsets must ascend within [offset_from, offset_end), which no checksum covers.
  struct Range {
    uint64_t from = 0;
    uint64_t end = 0;
    Offset offset_from{0};
    Offset offset_end{0};
  };
  CleanerInput(io::File& file, const Range& range, std::size_t buffer_bytes, std::size_t batch_bytes_max);

  /// The next batch, valid until the next call; empty at the end. ErrorKind::corrupt: damaged.
  Result<std::optional<protocol::RecordBatchView>> next();

  /// Bytes read from the file since the last call.
  uint64_t take_bytes_read() { return std::exchange(bytes_read_, 0); }

 private:
  Result<void> fill(std::size_t wanted);
  Result<void> check_large(std::size_t size);
  std::unexpected<Error> damaged(const std::string& found) const;

  io::File& file_;
  uint64_t position_;  // of the next batch
  const uint64_t end_;
  Offset next_offset_;
  const Offset offset_end_;
  const std::size_t buffer_bytes_;
  const std::size_t batch_bytes_max_;
  std::vector<std::byte> buffer_;
  uint64_t buffer_at_ = 0;
  std::size_t buffered_ = 0;
  uint64_t bytes_read_ = 0;
};

}  // namespace barnabas::storage
