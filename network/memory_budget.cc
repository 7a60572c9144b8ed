#include "network/memory_budget.h"

#include <utility>

namespace barnabas::network {

// A remover lowers used_ and then looks at has_waiters_; a waiter sets has_waiters_ and then looks at used_. As both are
// sequentially consistent, at least one of the two sees the other.

void MemoryBudget::remove(uint64_t bytes) {
  used_.fetch_sub(bytes);
  if (has_waiters_.load() && used_.load() < limit_.load()) call_waiters();
}

void MemoryBudget::when_available(Callback callback) {
  {
    std::lock_guard lock(mutex_);
    waiters_.push_back(std::move(callback));
    has_waiters_.store(true);
  }
  if (used_.load() < limit_.load()) call_waiters();
}

void MemoryBudget::call_waiters() {
  std::vector<Callback> called;
  {
    std::lock_guard lock(mutex_);
    called.swap(waiters_);
    has_waiters_.store(false);
  }
  for (Callback& callback : called) callback();
}

}  // namespace barnabas::network
