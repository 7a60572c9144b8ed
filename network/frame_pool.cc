#include "network/frame_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/assert.h"

namespace barnabas::network {

namespace {

int class_of(uint64_t bytes) {
  return std::bit_width(bytes - 1);
}

uint64_t mapped_bytes(const FrameBlock& block) {
  return uint64_t{block.capacity} + frame_header_bytes;
}

FrameBlock* heap_block(uint32_t size) {
  void* memory = ::operator new(frame_header_bytes + size);
  auto* block = new (memory) FrameBlock;
  block->capacity = size;
  return block;
}

FrameBlock* map_block(uint64_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // A huge page for the first byte of a claimed frame would be the very cost that mapping avoids.
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  auto* block = new (memory) FrameBlock;
  block->capacity = static_cast<uint32_t>(bytes - frame_header_bytes);
  block->mapped = true;
  return block;
}

void free_block(FrameBlock* block) {
  if (block->mapped) {
    munmap(block, mapped_bytes(*block));
  } else {
    ::operator delete(block);
  }
}

}  // namespace

std::byte* Frame::data() const {
  return block_ == nullptr ? nullptr : reinterpret_cast<std::byte*>(block_) + frame_header_bytes;
}

void Frame::release() {
  if (block_->pool != nullptr) {
    block_->pool->release(block_);
  } else {
    free_block(block_);
  }
}

Frame Frame::copy_of(ByteView bytes) {
  Frame frame(heap_block(static_cast<uint32_t>(bytes.size())), static_cast<uint32_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(frame.data(), bytes.data(), bytes.size());
  return frame;
}

FramePool::~FramePool() {
  for (FrameBlock*& head : free_) {
    while (head != nullptr) free_block(std::exchange(head, head->next));
  }
}

std::optional<Frame> FramePool::allocate(uint32_t size) {
  FrameBlock* block = nullptr;
  if (size <= heap_max) {
    block = heap_block(size);
  } else {
    const uint64_t bytes = frame_header_bytes + size;
    const int size_class = std::max(class_of(bytes), smallest_class);
    if (size_class <= largest_class) {
      block = take_free(size_class);
      if (block == nullptr) block = map_block(uint64_t{1} << size_class);
    } else {
      block = map_block((bytes + 4095) & ~uint64_t{4095});
    }
  }
  if (block == nullptr) return std::nullopt;
  block->pool = this;
  block->charged = 0;
  block->completed = 0;
  return Frame(block, size);
}

void FramePool::charge(Frame& frame, uint32_t bytes) {
  FrameBlock& block = *frame.block_;
  BARNABAS_ASSERT(block.pool == this);
  block.charged += bytes;
  block.touched = std::max(block.touched, static_cast<uint32_t>(block.charged));
  budget_.add(bytes);
}

void FramePool::complete(Frame& frame) {
  frame.block_->completed = frame.block_->charged;
  budget_.complete(frame.block_->completed);
}

void FramePool::release(FrameBlock* block) {
  const uint64_t charged = block->charged;
  const uint64_t completed = block->completed;
  const int size_class = class_of(mapped_bytes(*block));
  bool kept = false;
  if (block->mapped && size_class <= largest_class) {
    std::lock_guard lock(mutex_);
    if (retained_ + block->touched <= retained_max) {
      block->next = std::exchange(free_[size_class - smallest_class], block);
      retained_ += block->touched;
      kept = true;
    }
  }
  if (!kept) free_block(block);
  // Last, as it may let other connections read, and those will want this block.
  budget_.remove(charged, completed);
}

FrameBlock* FramePool::take_free(int size_class) {
  std::lock_guard lock(mutex_);
  FrameBlock*& head = free_[size_class - smallest_class];
  if (head == nullptr) return nullptr;
  FrameBlock* block = std::exchange(head, head->next);
  retained_ -= block->touched;
  least_retained_ = std::min(least_retained_, retained_);
  return block;
}

void FramePool::trim() {
  FrameBlock* freed = nullptr;
  {
    std::lock_guard lock(mutex_);
    uint64_t excess = least_retained_;
    for (auto head = free_.rbegin(); head != free_.rend(); ++head) {
      while (*head != nullptr && (*head)->touched <= excess) {
        FrameBlock* block = std::exchange(*head, (*head)->next);
        excess -= block->touched;
        retained_ -= block->touched;
        block->next = std::exchange(freed, block);
      }
    }
    least_retained_ = retained_;
  }
  while (freed != nullptr) free_block(std::exchange(freed, freed->next));
}

uint64_t FramePool::retained_bytes() const {
  std::lock_guard lock(mutex_);
  return retained_;
}

}  // namespace barnabas::network
