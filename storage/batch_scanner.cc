#include "storage/batch_scanner.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace barnabas::storage {
namespace {

namespace batch_format = protocol::batch_format;
using protocol::RecordBatchHeader;
using protocol::RecordBatchView;

constexpr std::size_t verifier_chunk = 1 << 20;

/// Whether a message of format 0 or 1 has the CRC-32 that it says; damage that only looks like one has not.
bool is_old_message(ByteView message) {
  constexpr uint32_t polynomial = 0xedb88320;
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : message.subspan(batch_format::magic_at)) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
  }
  return ~crc == load_big_endian<uint32_t>(message.data() + batch_format::log_overhead);
}

std::string place(const io::File& file, uint64_t position) {
  return file.path() + ", byte " + std::to_string(position);
}

}  // namespace

Result<std::optional<BatchAt>> HeaderScanner::next() {
  if (position_ >= end_) return std::nullopt;
  if (end_ - position_ < batch_format::header_bytes)
    return fail(ErrorKind::corrupt, place(file_, position_) + ": " + std::to_string(end_ - position_) +
                                        " bytes, expected a batch header");
  if (position_ < buffer_at_ || position_ + batch_format::header_bytes > buffer_at_ + buffered_) {
    // A walk from header to header over large batches wants the header only; over small ones, many at once.
    const bool far = buffered_ != 0 && position_ > buffer_at_ + buffered_ + buffer_.size();
    const std::size_t wanted =
        std::min<uint64_t>(far ? batch_format::header_bytes : buffer_.size(), end_ - position_);
    BARNABAS_ASSIGN(buffered_, file_.read_at(MutableByteView(buffer_).first(wanted), position_));
    buffer_at_ = position_;
    if (buffered_ < batch_format::header_bytes)
      return fail(ErrorKind::corrupt, place(file_, position_) + ": the file ends within a batch header");
  }
  const ByteView bytes(buffer_.data() + (position_ - buffer_at_), batch_format::header_bytes);
  auto header = RecordBatchHeader::parse(bytes);
  if (!header) return fail(place(file_, position_), std::move(header).error());
  if (header->size_bytes() > end_ - position_)
    return fail(ErrorKind::corrupt, place(file_, position_) + ": a batch of " +
                                        std::to_string(header->size_bytes()) + " bytes, " +
                                        std::to_string(end_ - position_) + " are there");
  if (header->last_offset_delta < 0)
    return fail(ErrorKind::corrupt,
                place(file_, position_) + ": last offset delta " + std::to_string(header->last_offset_delta));
  BatchAt found{position_, *header};
  position_ = found.end();
  return found;
}

Result<bool> BatchVerifier::fill(std::size_t wanted) {
  if (following_ < buffer_at_ || following_ + wanted > buffer_at_ + buffered_) {
    const std::size_t size = std::min<uint64_t>(std::max(wanted, verifier_chunk), end_ - following_);
    if (buffer_.size() < size) buffer_.resize(size);
    BARNABAS_ASSIGN(buffered_, file_.read_at(MutableByteView(buffer_).first(size), following_));
    buffer_at_ = following_;
  }
  return buffered_ - (following_ - buffer_at_) >= wanted;
}

std::optional<RecordBatchView> BatchVerifier::damaged(const std::string& found) {
  damage_ = place(file_, position_) + ": " + found;
  return std::nullopt;
}

Result<std::optional<RecordBatchView>> BatchVerifier::next() {
  position_ = following_;
  if (!damage_.empty() || position_ >= end_) return std::nullopt;
  const uint64_t left = end_ - position_;
  if (left < batch_format::crc_at) return damaged(std::to_string(left) + " bytes, too few for a batch");
  BARNABAS_ASSIGN(bool there, fill(std::min<uint64_t>(left, batch_format::header_bytes)));
  if (!there) return damaged("the file ends within a batch header");
  const std::byte* at = buffer_.data() + (position_ - buffer_at_);
  const auto length = load_big_endian<int32_t>(at + batch_format::length_at);
  const auto magic = load_big_endian<int8_t>(at + batch_format::magic_at);
  if (length < batch_format::old_length_min) return damaged("length " + std::to_string(length));
  const uint64_t size = batch_format::log_overhead + static_cast<uint64_t>(length);
  if (size > left)
    return damaged("a batch of " + std::to_string(size) + " bytes, " + std::to_string(left) + " are there");
  BARNABAS_ASSIGN(there, fill(size));
  if (!there) return damaged("the file ends within a batch");
  at = buffer_.data() + (position_ - buffer_at_);
  if ((magic == 0 || magic == 1) && is_old_message(ByteView(at, size)))
    return fail(ErrorKind::unsupported, place(file_, position_) + ": a message of format version " +
                                            std::to_string(magic) + "; only version 2 is served");
  auto batch = RecordBatchView::parse(ByteView(at, size));
  if (!batch) return damaged(batch.error().message);
  if (check_crc_ && !batch->verify_crc())
    return damaged("checksum " + std::to_string(batch->computed_crc()) + ", expected " +
                   std::to_string(batch->crc()));
  const int64_t base = batch->base_offset().value();
  if (base < next_offset_.value() || base - base_offset_.value() > std::numeric_limits<int32_t>::max() ||
      batch->last_offset_delta() < 0 ||
      base - base_offset_.value() + batch->last_offset_delta() > std::numeric_limits<int32_t>::max())
    return damaged("offsets " + std::to_string(base) + " + " + std::to_string(batch->last_offset_delta()) +
                   ", expected from " + std::to_string(next_offset_.value()) + " on");
  next_offset_ = batch->next_offset();
  following_ = position_ + size;
  return *batch;
}

Result<std::vector<std::byte>> read_batch(io::File& file, uint64_t position, uint64_t end) {
  HeaderScanner scanner(file, position, end);
  BARNABAS_ASSIGN(const std::optional<BatchAt> found, scanner.next());
  if (!found) return fail(ErrorKind::corrupt, place(file, position) + ": no batch");
  std::vector<std::byte> bytes(found->header.size_bytes());
  BARNABAS_ASSIGN(const std::size_t got, file.read_at(bytes, position));
  if (got != bytes.size())
    return fail(ErrorKind::corrupt, place(file, position) + ": the file ends within a batch");
  return bytes;
}

}  // namespace barnabas::storage
