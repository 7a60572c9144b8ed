#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace barnabas::storage {

/// Calls `work(0)` … `work(count - 1)` on up to `threads` threads, the caller's among them, and returns when
/// all are done. The order is only roughly kept. `work` must be safe to run beside itself and must not throw.
template <class Work>
void in_parallel(unsigned threads, std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t index = next++; index < count; index = next++) work(index);
  };
  std::vector<std::jthread> helpers;
  for (std::size_t started = 1; started < std::min<std::size_t>(threads, count); ++started)
    helpers.emplace_back(run);
  run();
}

}  // namespace barnabas::storage
