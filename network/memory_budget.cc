#include "network/memory_budget.h"

namespace barnabas::network {

// A remover lowers a count and then looks whether anybody waits; a waiter says so and then looks at the
// count. As both are sequentially consistent, at least one of the two sees the other.

void MemoryBudget::remove(uint64_t bytes, uint64_t completed) {
  used_.fetch_sub(bytes);
  if (completed > 0) complete_.fetch_sub(completed);
  if (for_room_.any.load() && ready(for_room_)) call(for_room_);
  if (for_overdraft_.any.load() && ready(for_overdraft_)) call(for_overdraft_);
}

void MemoryBudget::wait(Waiters& waiters, Callback callback) {
  {
    std::lock_guard lock(mutex_);
    waiters.callbacks.push_back(std::move(callback));
    waiters.any.store(true);
  }
  if (ready(waiters)) call(waiters);
}

void MemoryBudget::call(Waiters& waiters) {
  std::vector<Callback> called;
  {
    std::lock_guard lock(mutex_);
    called.swap(waiters.callbacks);
    waiters.any.store(false);
  }
  for (Callback& callback : called) callback();
}

}  // namespace barnabas::network
