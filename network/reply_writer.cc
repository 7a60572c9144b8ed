#include "network/reply_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/endian.h"
#include "network/page_cache.h"

namespace barnabas::network {

namespace {

/// What is looked up in the page cache and sent at once.
constexpr uint64_t send_file_bytes = 256 << 10;
/// What is read from the device at once.
constexpr uint64_t cold_read_bytes = 1 << 20;
/// The same for bytes that have to be held until they are sent.
constexpr uint64_t supplied_bytes_max = 256 << 10;

}  // namespace

void ReplyWriter::Gathered::add(const std::byte* from, std::size_t length) {
  pieces[count++] = {const_cast<std::byte*>(from), length};
  bytes += length;
}

void ReplyWriter::push(OutgoingFrame frame) {
  BARNABAS_ASSERT(frame.size() <= INT32_MAX);
  backlog_ += 4 + frame.size();
  if (first_ >= 16 && first_ * 2 >= queue_.size()) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  Item& item = queue_.emplace_back();
  store_big_endian(item.size.data(), static_cast<uint32_t>(frame.size()));
  item.frame = std::move(frame);
}

/// False: stop here, the room is used up or part of a file comes next.
bool ReplyWriter::gather_item(const Item& item, Gathered& into) const {
  if (item.size_sent < item.size.size()) {
    if (into.count == gathered_max) return false;
    into.add(item.size.data() + item.size_sent, item.size.size() - item.size_sent);
  }
  uint64_t skip = item.sent_of_piece;
  for (std::size_t i = item.piece; i < item.frame.pieces_.size(); ++i) {
    const auto* memory = std::get_if<MemoryPiece>(&item.frame.pieces_[i]);
    into.more = memory == nullptr;
    if (memory == nullptr || into.count == gathered_max) return false;
    into.add(memory->bytes.data() + skip, memory->bytes.size() - skip);
    skip = 0;
  }
  return true;
}

void ReplyWriter::gather(Gathered& into) const {
  for (std::size_t i = first_; i < queue_.size(); ++i) {
    if (!gather_item(queue_[i], into)) return;
  }
}

ReplyWriter::Status ReplyWriter::flush(Transport& transport, std::size_t turn_bytes) {
  std::size_t moved = 0;
  while (!empty()) {
    if (moved >= turn_bytes) return Status::turn_over;
    Gathered gathered;
    gather(gathered);
    const Status status =
        gathered.count > 0 ? write_memory(transport, gathered, moved) : send_file_piece(transport, moved);
    if (status != Status::idle) return status;
  }
  return Status::idle;
}

ReplyWriter::Status ReplyWriter::write_memory(Transport& transport, const Gathered& gathered,
                                              std::size_t& moved) {
  const IoOutcome outcome = transport.write(std::span(gathered.pieces).first(gathered.count), gathered.more);
  if (outcome.status == IoOutcome::Status::again) return Status::again;
  if (outcome.status != IoOutcome::Status::done) return fail(std::strerror(outcome.system_error));
  consume(outcome.bytes);
  moved += outcome.bytes;
  return outcome.bytes < gathered.bytes ? Status::again : Status::idle;
}

ReplyWriter::Status ReplyWriter::send_file_piece(Transport& transport, std::size_t& moved) {
  const io::FileSlice& slice = *front_slice();
  const uint64_t sent = queue_[first_].sent_of_piece;
  const int file = slice.file->descriptor();
  if (supplied_) return send_supplied(transport, moved);
  if (file < 0 || !transport.can_send_files()) return Status::cold;
  const uint64_t position = slice.position + sent;
  const std::size_t length = std::min(slice.length - sent, warm_ > 0 ? warm_ : send_file_bytes);
  if (warm_ == 0) {
    if (!in_page_cache(file, position, length)) return Status::cold;
    warm_ = length;
  }
  const IoOutcome outcome = transport.send_file(file, position, length);
  if (outcome.status == IoOutcome::Status::done) {
    warm_ -= outcome.bytes;
    consume(outcome.bytes);
    moved += outcome.bytes;
    return Status::idle;
  }
  if (outcome.status == IoOutcome::Status::again) {
    // Until the peer takes more, the pages may be dropped again.
    warm_ = 0;
    return Status::again;
  }
  if (outcome.status == IoOutcome::Status::end) {
    file_failed_ = true;
    return fail("file of an answer is shorter than promised: " + slice.file->path() + " ends before " +
                std::to_string(slice.position + slice.length));
  }
  file_failed_ = outcome.system_error == EIO;
  return fail("sending of " + slice.file->path() + ": " + std::strerror(outcome.system_error));
}

ReplyWriter::Status ReplyWriter::send_supplied(Transport& transport, std::size_t& moved) {
  const std::size_t left = supplied_size_ - supplied_sent_;
  const iovec from{supplied_.get() + supplied_sent_, left};
  const io::FileSlice& slice = *front_slice();
  const bool more = queue_[first_].sent_of_piece + left < slice.length ||
                    queue_[first_].piece + 1 < queue_[first_].frame.pieces_.size();
  const IoOutcome outcome = transport.write(std::span(&from, 1), more);
  if (outcome.status == IoOutcome::Status::again) return Status::again;
  if (outcome.status != IoOutcome::Status::done) return fail(std::strerror(outcome.system_error));
  supplied_sent_ += outcome.bytes;
  if (supplied_sent_ == supplied_size_) supplied_.reset();
  consume(outcome.bytes);
  moved += outcome.bytes;
  return outcome.bytes < left ? Status::again : Status::idle;
}

ReplyWriter::Status ReplyWriter::fail(std::string why) {
  failure_ = std::move(why);
  return Status::failed;
}

const io::FileSlice* ReplyWriter::front_slice() const {
  const Item& item = queue_[first_];
  return std::get_if<io::FileSlice>(&item.frame.pieces_[item.piece]);
}

ReplyWriter::ColdPiece ReplyWriter::cold_piece(const Transport& transport) const {
  const uint64_t sent = queue_[first_].sent_of_piece;
  ColdPiece cold{*front_slice(), false};
  cold.wants_bytes = cold.slice.file->descriptor() < 0 || !transport.can_send_files();
  cold.slice.position += sent;
  cold.slice.length =
      std::min(cold.slice.length - sent, cold.wants_bytes ? supplied_bytes_max : cold_read_bytes);
  return cold;
}

void ReplyWriter::warmed(uint64_t length) {
  warm_ = length;
}

void ReplyWriter::supply(std::unique_ptr<std::byte[]> bytes, std::size_t length) {
  BARNABAS_ASSERT(length > 0);
  supplied_ = std::move(bytes);
  supplied_size_ = length;
  supplied_sent_ = 0;
}

void ReplyWriter::consume(std::size_t bytes) {
  backlog_ -= bytes;
  while (true) {
    Item& item = queue_[first_];
    const std::size_t of_size = std::min<std::size_t>(bytes, item.size.size() - item.size_sent);
    item.size_sent = static_cast<uint8_t>(item.size_sent + of_size);
    bytes -= of_size;
    auto& pieces = item.frame.pieces_;
    while (item.piece < pieces.size()) {
      const auto* memory = std::get_if<MemoryPiece>(&pieces[item.piece]);
      const uint64_t left = (memory ? memory->bytes.size() : front_slice()->length) - item.sent_of_piece;
      if (bytes < left) {
        item.sent_of_piece += bytes;
        return;
      }
      bytes -= left;
      pieces[item.piece++] = MemoryPiece();  // lets go of its memory or file now
      item.sent_of_piece = 0;
      warm_ = 0;
    }
    if (item.size_sent < item.size.size()) return;
    item = Item();
    if (++first_ == queue_.size()) {
      queue_.clear();
      first_ = 0;
      return;
    }
    if (bytes == 0) return;
  }
}

}  // namespace barnabas::network
