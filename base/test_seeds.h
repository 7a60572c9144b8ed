#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace barnabas {

/// The seeds that a simulation in the tests is to run: `first` to `last`.
struct TestSeeds {
  uint64_t first = 1;
  uint64_t last = 1;
};

/// Sanitizers and code that isn't optimised make a simulation twenty times as slow: there a sixth of hundreds
/// of seeds, or a sixtieth of thousands, reaches all of the code. The release build runs them all.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr bool few_test_seeds = true;
#else
constexpr bool few_test_seeds = false;
#endif

/// 1 to `count`, or to a part of it where `few_test_seeds`, unless the environment says otherwise:
/// `<prefix>_SEED=17` is that one alone, `<prefix>_SEEDS=5000` is 1 to 5000. Numbers are read as strtoull
/// reads them.
inline TestSeeds test_seeds(uint64_t count, const std::string& prefix = "BARNABAS") {
  const auto number = [](const std::string& name, uint64_t otherwise) {
    const char* text = std::getenv(name.c_str());
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  if (few_test_seeds) count = std::max<uint64_t>(1, count / (count < 1000 ? 6 : 60));
  if (const uint64_t only = number(prefix + "_SEED", 0); only != 0) return {only, only};
  return {1, number(prefix + "_SEEDS", count)};
}

}  // namespace barnabas
