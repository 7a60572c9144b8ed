#include "metadata/shared_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"

namespace barnabas::metadata {
namespace {

struct Entry {
  int key;
  int value;
};
struct KeyOf {
  int operator()(const Entry& entry) const { return entry.key; }
};
using Map = SharedMap<Entry, KeyOf>;

void expect_equal(const Map& map, const std::map<int, int>& model) {
  ASSERT_EQ(map.size(), model.size());
  auto expected = model.begin();
  for (const auto& entry : map) {
    ASSERT_EQ(entry.key, expected->first);
    ASSERT_EQ(entry.value, expected->second);
    ++expected;
  }
}

TEST(SharedMap, behaves_as_a_sorted_map_under_random_changes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SeededRandom random(seed);
    Map map;
    std::map<int, int> model;
    for (int step = 0; step < 3000; ++step) {
      const int key = static_cast<int>(random.below(1000));
      if (random.one_in(3)) {
        EXPECT_EQ(map.erase(key), model.erase(key) == 1);
      } else {
        map.put({key, step});
        model[key] = step;
      }
      const int wanted = static_cast<int>(random.below(1000));
      const auto* found = map.find(wanted);
      ASSERT_EQ(found != nullptr, model.contains(wanted));
      auto at = map.lower_bound(wanted);
      auto expected = model.lower_bound(wanted);
      ASSERT_EQ(at == map.end(), expected == model.end());
      if (expected != model.end()) {
        ASSERT_EQ(at->key, expected->first);
      }
    }
    expect_equal(map, model);
  }
}

TEST(SharedMap, copies_keep_their_content_while_the_original_changes) {
  SeededRandom random(7);
  Map map;
  std::map<int, int> model;
  std::vector<std::pair<Map, std::map<int, int>>> copies;
  for (int step = 0; step < 2000; ++step) {
    const int key = static_cast<int>(random.below(500));
    if (random.one_in(3)) {
      map.erase(key);
      model.erase(key);
    } else {
      map.put({key, step});
      model[key] = step;
    }
    if (step % 100 == 0) copies.emplace_back(map, model);
  }
  for (const auto& [copy, expected] : copies) expect_equal(copy, expected);
}

TEST(SharedMap, tells_what_a_copy_does_not_share_and_little_else) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SeededRandom random(seed);
    Map map;
    for (int key = 0; key < 5000; ++key) map.put({key, 0});
    const Map before = map;
    std::map<int, int> changed;
    for (int step = 0; step < 5; ++step) {
      const int key = static_cast<int>(random.below(6000));
      if (random.one_in(3)) {
        map.erase(key);
        changed.erase(key);
      } else {
        map.put({key, 1});
        changed[key] = 1;
      }
    }
    std::map<int, int> seen;
    map.for_each_unshared(before, [&](const Entry& entry) { seen[entry.key] = entry.value; });
    for (const auto& [key, value] : changed) EXPECT_EQ(seen[key], value);
    EXPECT_LE(seen.size(), 5U * 130);
    map.for_each_unshared(Map(map), [](const Entry&) { FAIL() << "all of it is shared"; });
    std::size_t all = 0;
    map.for_each_unshared(Map(), [&](const Entry&) { ++all; });
    EXPECT_EQ(all, map.size());
  }
}

TEST(SharedMap, an_empty_map_has_nothing) {
  Map map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_EQ(map.begin(), map.end());
  EXPECT_EQ(map.lower_bound(1), map.end());
  EXPECT_FALSE(map.erase(1));
}

}  // namespace
}  // namespace barnabas::metadata
