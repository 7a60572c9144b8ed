#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace barnabas::metrics {

/// Which of its stripes a counter uses on this thread: threads take turns as they first count.
std::size_t stripe_of_this_thread();

/// A set of counters that many threads raise at once, each in cache lines of its own as long as there are no
/// more threads than stripes. Any thread.
template <std::size_t count>
class StripedCounters {
 public:
  void add(std::size_t which, uint64_t amount) {
    stripes_[stripe_of_this_thread() % stripes].values[which].fetch_add(amount, std::memory_order_relaxed);
  }
  uint64_t value(std::size_t which) const {
    uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.values[which].load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static constexpr std::size_t stripes = 32;
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, count> values{};
  };
  std::array<Stripe, stripes> stripes_{};
};

}  // namespace barnabas::metrics
