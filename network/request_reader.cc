#include "network/request_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/endian.h"

namespace barnabas::network {

namespace {

/// How much of the next request may be read along with the end of a large one: its head and whatever small
/// requests follow. What is read along is copied once more, so no more than this.
constexpr std::size_t read_along_bytes = 16 << 10;

}  // namespace

RequestReader::State RequestReader::begin_frame(Bounds bounds) {
  size_ = load_big_endian<uint32_t>(head_.data());
  const bool empty = size_ == 0 && !bounds.may_be_empty;
  if (empty || size_ > std::min(request_bytes_max_, bounds.bytes_max)) return failure_ = State::bad_size;
  auto frame = pool_.allocate(size_);
  if (!frame) return failure_ = State::no_memory;
  frame_ = std::move(*frame);
  in_frame_ = true;
  arrived_ = 0;
  return State::complete;
}

RequestReader::State RequestReader::advance(Bounds bounds) {
  if (failure_ != State::need_bytes) return failure_;
  if (!in_frame_) {
    const std::size_t taken = std::min<std::size_t>(head_.size() - head_count_, input_.size());
    std::copy_n(input_.begin(), taken, head_.begin() + head_count_);
    input_ = input_.subspan(taken);
    head_count_ = static_cast<uint8_t>(head_count_ + taken);
    if (head_count_ < head_.size()) return State::need_bytes;
    if (const State state = begin_frame(bounds); state != State::complete) return state;
    head_count_ = 0;
  }
  const uint32_t taken = static_cast<uint32_t>(std::min<std::size_t>(size_ - arrived_, input_.size()));
  if (taken > 0) {
    std::memcpy(frame_.mutable_bytes().data() + arrived_, input_.data(), taken);
    input_ = input_.subspan(taken);
    arrived_ += taken;
    pool_.charge(frame_, taken);
  }
  return arrived_ == size_ ? State::complete : State::need_bytes;
}

Frame RequestReader::take() {
  BARNABAS_ASSERT(in_frame_ && arrived_ == size_);
  in_frame_ = false;
  pool_.complete(frame_);
  return std::exchange(frame_, Frame());
}

IoOutcome RequestReader::read(Transport& transport, std::span<std::byte> scratch, Ahead ahead, bool& filled) {
  BARNABAS_ASSERT(input_.empty());
  const std::size_t wanted = in_frame_ ? size_ - arrived_ : 0;
  if (ahead == Ahead::none) {
    scratch = scratch.first(in_frame_ ? 0 : head_.size() - head_count_);
  } else if (wanted >= scratch.size() / 2) {
    scratch = scratch.first(std::min(read_along_bytes, scratch.size()));
  }
  const MutableByteView direct =
      in_frame_ ? frame_.mutable_bytes().subspan(arrived_, wanted) : MutableByteView();
  const iovec pieces[] = {{direct.data(), direct.size()}, {scratch.data(), scratch.size()}};
  const std::size_t first = direct.empty() ? 1 : 0;
  const IoOutcome outcome = transport.read(std::span(pieces).subspan(first));
  filled = outcome.bytes == wanted + scratch.size();
  const std::size_t into_frame = std::min(outcome.bytes, wanted);
  if (into_frame > 0) {
    arrived_ += static_cast<uint32_t>(into_frame);
    pool_.charge(frame_, static_cast<uint32_t>(into_frame));
  }
  input_ = scratch.first(outcome.bytes - into_frame);
  input_in_scratch_ = true;
  return outcome;
}

void RequestReader::keep_rest() {
  const bool in_scratch = std::exchange(input_in_scratch_, false);
  if (input_.empty()) return keep_nothing();
  if (!in_scratch) return;
  auto kept = std::make_unique_for_overwrite<std::byte[]>(input_.size());
  std::memcpy(kept.get(), input_.data(), input_.size());
  input_ = {kept.get(), input_.size()};
  kept_ = std::move(kept);
  kept_size_ = input_.size();
}

void RequestReader::keep_nothing() {
  kept_.reset();
  kept_size_ = 0;
}

bool RequestReader::holds_request() const {
  if (in_frame_) return arrived_ + input_.size() >= size_;
  std::array<std::byte, 4> head = head_;
  const std::size_t missing = head.size() - head_count_;
  if (input_.size() < missing) return false;
  std::copy_n(input_.begin(), missing, head.begin() + head_count_);
  return input_.size() - missing >= load_big_endian<uint32_t>(head.data());
}

void RequestReader::drop() {
  failure_ = State::no_memory;
  in_frame_ = false;
  frame_ = Frame();
  input_ = {};
  keep_nothing();
}

}  // namespace barnabas::network
