#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>

namespace barnabas::sim {

/// Virtual time and chance. All that happens is an event; equal seeds give equal runs.
class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {}

  int64_t now_ms() const { return now_ms_; }
  /// 0 to limit - 1.
  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }
  bool chance(int percent) { return below(100) < percent; }

  void after(int64_t delay_ms, std::function<void()> event) {
    events_.emplace(std::pair(now_ms_ + delay_ms, ++last_number_), std::move(event));
  }
  /// Runs the next event; false: there is none until then.
  bool step(int64_t until_ms) {
    if (events_.empty() || events_.begin()->first.first > until_ms) return false;
    const auto next = events_.begin();
    now_ms_ = next->first.first;
    const std::function<void()> event = std::move(next->second);
    events_.erase(next);
    event();
    return true;
  }
  void skip_to(int64_t ms) { now_ms_ = std::max(now_ms_, ms); }

  /// While on, messages get lost, come twice and late, and machines die.
  bool faults = true;

 private:
  std::mt19937_64 random_;
  int64_t now_ms_ = 0;
  uint64_t last_number_ = 0;
  std::map<std::pair<int64_t, uint64_t>, std::function<void()>> events_;
};

}  // namespace barnabas::sim
