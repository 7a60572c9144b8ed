#include "storage/cleaner_input.h"

#include <algorithm>

#include "base/crc32c.h"
#include "base/endian.h"

namespace barnabas::storage {

namespace batch_format = protocol::batch_format;
using protocol::RecordBatchHeader;
using protocol::RecordBatchView;

CleanerInput::CleanerInput(io::File& file, const Range& range, std::size_t buffer_bytes,
                           std::size_t batch_bytes_max)
    : file_(file),
      position_(range.from),
      end_(range.end),
      next_offset_(range.offset_from),
      offset_end_(range.offset_end),
      buffer_bytes_(std::max(buffer_bytes, batch_format::header_bytes)),
      batch_bytes_max_(std::max(batch_bytes_max, buffer_bytes_)) {}

std::unexpected<Error> CleanerInput::damaged(const std::string& found) const {
  return fail(ErrorKind::corrupt, file_.path() + ", byte " + std::to_string(position_) + ": " + found);
}

// Leaves `wanted` bytes from position_ on in the buffer.
Result<void> CleanerInput::fill(std::size_t wanted) {
  if (position_ >= buffer_at_ && position_ + wanted <= buffer_at_ + buffered_) return {};
  const std::size_t capacity = std::max(wanted, buffer_bytes_);
  if (buffer_.size() != capacity) {
    buffer_ = {};  // before the new one: both at once would be twice the memory
    buffer_.resize(capacity);
  }
  buffered_ = 0;
  const auto size = static_cast<std::size_t>(std::min<uint64_t>(capacity, end_ - position_));
  BARNABAS_ASSIGN(buffered_, file_.read_at(MutableByteView(buffer_).first(size), position_));
  buffer_at_ = position_;
  bytes_read_ += buffered_;
  if (buffered_ < wanted)
    return damaged("the file ends after " + std::to_string(buffered_) + " bytes, expected " +
                   std::to_string(wanted));
  return {};
}

Result<void> CleanerInput::check_large(std::size_t size) {
  std::vector<std::byte> piece(buffer_bytes_);
  uint32_t crc = crc32c({});
  for (std::size_t at = batch_format::crc_from; at < size;) {
    const std::size_t wanted = std::min(piece.size(), size - at);
    BARNABAS_ASSIGN(const std::size_t got,
                    file_.read_at(MutableByteView(piece).first(wanted), position_ + at));
    bytes_read_ += got;
    if (got < wanted) return damaged("the file ends within a batch");
    crc = crc32c_extend(crc, ByteView(piece).first(got));
    at += got;
  }
  if (crc != load_big_endian<uint32_t>(buffer_.data() + (position_ - buffer_at_) + batch_format::crc_at))
    return damaged("a batch of " + std::to_string(size) + " bytes with a wrong checksum");
  return {};
}

Result<std::optional<RecordBatchView>> CleanerInput::next() {
  if (position_ >= end_) return std::nullopt;
  const uint64_t left = end_ - position_;
  if (left < batch_format::header_bytes) return damaged(std::to_string(left) + " bytes, too few for a batch");
  BARNABAS_TRY(fill(batch_format::header_bytes));
  const auto header = RecordBatchHeader::parse(
      ByteView(buffer_.data() + (position_ - buffer_at_), batch_format::header_bytes));
  if (!header) return damaged(header.error().message);
  const std::size_t size = header->size_bytes();
  if (size > left)
    return damaged("a batch of " + std::to_string(size) + " bytes, " + std::to_string(left) + " are there");
  if (header->last_offset_delta < 0)
    return damaged("last offset delta " + std::to_string(header->last_offset_delta));
  if (header->base_offset < next_offset_ || header->base_offset >= offset_end_ ||
      header->last_offset_delta >= offset_end_ - header->base_offset)
    return damaged("offsets " + std::to_string(header->base_offset.value()) + " + " +
                   std::to_string(header->last_offset_delta) + ", expected within " +
                   std::to_string(next_offset_.value()) + " to " + std::to_string(offset_end_.value()));
  const bool is_large = size > batch_bytes_max_;
  if (is_large) BARNABAS_TRY(check_large(size));
  BARNABAS_TRY(fill(size));
  const auto batch = RecordBatchView::trusted(ByteView(buffer_.data() + (position_ - buffer_at_), size));
  if (!is_large && !batch.verify_crc()) return damaged("a batch with a wrong checksum");
  position_ += size;
  next_offset_ = header->next_offset();
  return batch;
}

}  // namespace barnabas::storage
