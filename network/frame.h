#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/types.h"

namespace barnabas::network {

struct FrameBlock;

/// One request as it came, without the 4 bytes of size in front. Owns its memory and counts against the
/// memory budget of the loops until it is destroyed, so let go of it as soon as its bytes are no longer
/// needed. Move-only, may be moved to and destroyed on any thread; the EventLoops that read it must outlive
/// it. The bytes do not move.
class Frame {
 public:
  Frame() = default;
  Frame(Frame&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Frame& operator=(Frame&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Frame() {
    if (block_ != nullptr) release();
  }

  /// A frame that belongs to no loop, for tests and for requests that the broker makes itself.
  static Frame copy_of(ByteView bytes);

  ByteView bytes() const { return {data(), size_}; }
  /// Batches of a produce request are patched where they lie.
  MutableByteView mutable_bytes() { return {data(), size_}; }
  std::size_t size() const { return size_; }

 private:
  friend class FramePool;
  Frame(FrameBlock* block, uint32_t size) : block_(block), size_(size) {}
  std::byte* data() const;
  void release();

  FrameBlock* block_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace barnabas::network
