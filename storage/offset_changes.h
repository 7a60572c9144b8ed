#pragma once

#include <atomic>
#include <cstdint>

namespace barnabas::storage {

/// Whether any log of a node has moved since a checkpoint file was written last: a round over thousands of
/// logs that did nothing is not made. One bit for each of the files; all begin as moved. Thread-safe.
class OffsetChanges {
 public:
  /// Call it after the offset has moved. Costs a fence while nobody has taken the bits.
  void note() {
    // Against take(): either it sees the offset, or this sees that the bit was taken.
#ifdef __SANITIZE_THREAD__
    bits_.fetch_or(0, std::memory_order_seq_cst);  // the thread sanitizer knows no fences
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    if (bits_.load(std::memory_order_relaxed) != all) bits_.store(all, std::memory_order_seq_cst);
  }
  /// Whether something moved since the last take of this file. Call it before looking at the offsets.
  bool take(unsigned file) {
    const uint32_t bit = 1U << file;
    return (bits_.fetch_and(~bit, std::memory_order_seq_cst) & bit) != 0;
  }

 private:
  static constexpr uint32_t all = ~uint32_t{0};
  std::atomic<uint32_t> bits_{all};
};

}  // namespace barnabas::storage
