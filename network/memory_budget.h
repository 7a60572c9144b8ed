#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace barnabas::network {

/// Counts the bytes of requests in memory, from arrival to the destruction of their frame. Going over the limit is not
/// prevented here: whoever reads asks `exhausted` first and otherwise waits to be called. Any thread.
class MemoryBudget {
 public:
  using Callback = std::move_only_function<void()>;

  void set_limit(uint64_t bytes) { limit_.store(bytes); }
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  bool exhausted() const { return used() >= limit(); }

  void add(uint64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void remove(uint64_t bytes);
  /// Calls `callback` once, from any thread, as soon as the budget is not exhausted; that may be before this returns.
  void when_available(Callback callback);

 private:
  void call_waiters();

  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> limit_ = UINT64_MAX;
  std::atomic<bool> has_waiters_ = false;
  std::mutex mutex_;
  std::vector<Callback> waiters_;
};

}  // namespace barnabas::network
