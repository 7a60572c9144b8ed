#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace barnabas::network {

/// Counts the bytes of requests in memory, from arrival to the destruction of their frame, and what was read
/// ahead of them. Going over the limit is not prevented here: whoever reads asks `exhausted` first and
/// otherwise waits to be called. Any thread.
///
/// When half-read requests hold most of the budget, nothing gives memory back until one of them is read to
/// its end. Then a few may be read beyond the limit (`may_overdraw`).
class MemoryBudget {
 public:
  using Callback = std::move_only_function<void()>;

  void set_limit(uint64_t bytes) { limit_.store(bytes); }
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  bool exhausted() const { return used_.load() >= limit_.load(); }
  /// While half of the limit is left. So what is read ahead of requests never uses it up alone.
  bool may_read_ahead() const { return used_.load(std::memory_order_relaxed) < limit_.load() / 2; }
  /// Complete requests, which will be answered and give their memory back, hold less than half of the limit.
  bool may_overdraw() const { return complete_.load() < limit_.load() / 2; }

  void add(uint64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  /// So many of the bytes that were added are now a complete request.
  void complete(uint64_t bytes) { complete_.fetch_add(bytes, std::memory_order_relaxed); }
  /// A request is gone; `completed` of its bytes were complete.
  void remove(uint64_t bytes, uint64_t completed);

  /// Each calls back once, from any thread, as soon as its condition holds; that may be before it returns.
  void when_available(Callback callback) { wait(for_room_, std::move(callback)); }
  void when_overdraft_possible(Callback callback) { wait(for_overdraft_, std::move(callback)); }

 private:
  struct Waiters {
    std::atomic<bool> any = false;
    std::vector<Callback> callbacks;  ///< guarded by mutex_
  };
  bool ready(const Waiters& waiters) const { return &waiters == &for_room_ ? !exhausted() : may_overdraw(); }
  void wait(Waiters& waiters, Callback callback);
  void call(Waiters& waiters);

  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> complete_ = 0;
  std::atomic<uint64_t> limit_ = UINT64_MAX;
  std::mutex mutex_;
  Waiters for_room_;
  Waiters for_overdraft_;
};

/// Bytes of one owner that count in a budget for as long as this is there. The budget outlives it.
class CountedBytes {
 public:
  explicit CountedBytes(MemoryBudget& budget) : budget_(budget) {}
  ~CountedBytes() { set(0); }
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;

  /// So many from now on. With less than before it may call those who wait for room.
  void set(uint64_t bytes) {
    const uint64_t before = std::exchange(bytes_, bytes);
    if (bytes > before) budget_.add(bytes - before);
    if (bytes < before) budget_.remove(before - bytes, 0);
  }

 private:
  MemoryBudget& budget_;
  uint64_t bytes_ = 0;
};

}  // namespace barnabas::network
