#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace barnabas {

/// The seeds that a simulation in the tests is to run: `first` to `last`.
struct TestSeeds {
  uint64_t first = 1;
  uint64_t last = 1;
};

/// 1 to `count`, unless the environment says otherwise: `<prefix>_SEED=17` is that one alone,
/// `<prefix>_SEEDS=5000` is 1 to 5000. Numbers are read as strtoull reads them.
inline TestSeeds test_seeds(uint64_t count, const std::string& prefix = "BARNABAS") {
  const auto number = [](const std::string& name, uint64_t otherwise) {
    const char* text = std::getenv(name.c_str());
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  if (const uint64_t only = number(prefix + "_SEED", 0); only != 0) return {only, only};
  return {1, number(prefix + "_SEEDS", count)};
}

/// Thousands of seeds, of a simulation that gets through hundreds in a second: a twentieth of them where a
/// sanitizer or code that isn't optimised makes it slow.
inline TestSeeds many_test_seeds(uint64_t count) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
  count /= 20;
#endif
  return test_seeds(count);
}

}  // namespace barnabas
