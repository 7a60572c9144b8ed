#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "io/disk.h"
#include "protocol/records/record_batch.h"

namespace barnabas::storage {

struct BatchAt {
  uint64_t position = 0;
  protocol::RecordBatchHeader header;
  uint64_t end() const { return position + header.size_bytes(); }
};

/// Walks over the batch headers of a segment file; bodies are skipped, not read. The file must outlive it.
class HeaderScanner {
 public:
  /// From the batch that begins at `from`; nothing at or above `end` is looked at.
  HeaderScanner(io::File& file, uint64_t from, uint64_t end) : file_(file), position_(from), end_(end) {}

  /// nullopt at the end. ErrorKind::corrupt: what is there is no batch, or reaches over the end.
  Result<std::optional<BatchAt>> next();

 private:
  io::File& file_;
  uint64_t position_;
  uint64_t end_;
  uint64_t buffer_at_ = 0;
  std::size_t buffered_ = 0;
  std::array<std::byte, 4096> buffer_;
};

/// Walks over whole batches of a segment file, verifying each as far as it can be: format, checksum,
/// ascending offsets within what a segment can hold. Reads in large pieces.
class BatchVerifier {
 public:
  BatchVerifier(io::File& file, Offset base_offset, uint64_t end, bool check_crc = true)
      : file_(file), base_offset_(base_offset), next_offset_(base_offset), end_(end), check_crc_(check_crc) {}

  /// The next batch, valid until the next call; nullopt at the end or at the first thing that is no good
  /// batch: then damage() says what. ErrorKind::io when reading fails, unsupported at a message of an old
  /// format.
  Result<std::optional<protocol::RecordBatchView>> next();

  /// Where the batch of the last next() begins; after the end, where the good ones end.
  uint64_t position() const { return position_; }
  Offset next_offset() const { return next_offset_; }
  const std::string& damage() const { return damage_; }

 private:
  Result<bool> fill(std::size_t wanted);
  std::optional<protocol::RecordBatchView> damaged(const std::string& found);

  io::File& file_;
  const Offset base_offset_;
  Offset next_offset_;
  const uint64_t end_;
  const bool check_crc_;
  uint64_t position_ = 0;
  uint64_t following_ = 0;
  std::string damage_;
  std::vector<std::byte> buffer_;
  uint64_t buffer_at_ = 0;
  std::size_t buffered_ = 0;
};

/// Reads one whole batch that begins at `position`, `end` being the end of the file's good part.
Result<std::vector<std::byte>> read_batch(io::File& file, uint64_t position, uint64_t end);

}  // namespace barnabas::storage
