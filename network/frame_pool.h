#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "network/frame.h"
#include "network/memory_budget.h"

namespace barnabas::network {

/// Stands in front of the bytes of a frame.
struct FrameBlock {
  class FramePool* pool = nullptr;  ///< null: freed to the heap and not counted
  FrameBlock* next = nullptr;       ///< in the pool's list of free blocks
  uint64_t charged = 0;             ///< counted in the budget
  uint64_t completed = 0;           ///< of those, counted as complete
  uint32_t capacity = 0;            ///< bytes that fit behind this header
  uint32_t touched = 0;             ///< of those, how many may have pages behind them
  bool mapped = false;              ///< from mmap, else from the heap
};
inline constexpr std::size_t frame_header_bytes = 64;
static_assert(sizeof(FrameBlock) <= frame_header_bytes);

/// Memory for the requests of one loop. Small frames come from the heap. Larger ones are mapped, so that a
/// frame of a claimed 100 MB costs pages only for what arrived and is never moved; mapped blocks of up to 16
/// MB are kept for the next frame of their size class, within `retained_max` bytes, because mapping and
/// faulting in 1 MB for every produce request costs more than receiving it. Any thread.
class FramePool {
 public:
  static constexpr uint32_t heap_max = 32 << 10;
  static constexpr uint64_t retained_max = 32 << 20;

  explicit FramePool(MemoryBudget& budget) : budget_(budget) {}
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  /// A frame for `size` bytes with undefined content; nothing if the system refuses the address space.
  std::optional<Frame> allocate(uint32_t size);
  /// Counts `bytes` more that arrived in `frame`.
  void charge(Frame& frame, uint32_t bytes);
  /// All bytes of `frame` are there.
  void complete(Frame& frame);
  /// Gives back what lay unused since the last call. To be called about once a second.
  void trim();

  uint64_t retained_bytes() const;

 private:
  friend class Frame;
  static constexpr int smallest_class = 16;  ///< 64 KiB
  static constexpr int largest_class = 24;   ///< 16 MiB
  static constexpr int class_count = largest_class - smallest_class + 1;

  void release(FrameBlock* block);
  FrameBlock* take_free(int size_class);

  MemoryBudget& budget_;
  mutable std::mutex mutex_;
  std::array<FrameBlock*, class_count> free_{};
  uint64_t retained_ = 0;        ///< touched bytes of free blocks
  uint64_t least_retained_ = 0;  ///< since the last trim
};

}  // namespace barnabas::network
