#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace barnabas::coordinator::testing {

/// All chance of one run of a simulation, from its seed.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t end) { return random_() % end; }
  bool one_in(std::size_t many) { return below(many) == 0; }
  std::chrono::milliseconds up_to(std::chrono::milliseconds most) {
    return std::chrono::milliseconds(below(static_cast<std::size_t>(most.count())));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace barnabas::coordinator::testing
