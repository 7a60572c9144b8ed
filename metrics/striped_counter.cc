#include "metrics/striped_counter.h"

namespace barnabas::metrics {

std::size_t stripe_of_this_thread() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace barnabas::metrics
