#include "storage/leader_epoch_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace barnabas::storage {
namespace {

LeaderEpochCache cache_of(std::initializer_list<std::pair<int32_t, int64_t>> entries) {
  LeaderEpochCache cache;
  for (auto [epoch, start] : entries) cache.assign(LeaderEpoch(epoch), Offset(start));
  return cache;
}

EpochEnd end(int32_t epoch, int64_t offset) {
  return {LeaderEpoch(epoch), Offset(offset)};
}

TEST(LeaderEpochCache, answers_where_an_epoch_ended) {
  const auto cache = cache_of({{2, 0}, {5, 10}, {7, 20}});
  EXPECT_EQ(cache.end_offset(LeaderEpoch{7}, Offset{30}), end(7, 30));
  EXPECT_EQ(cache.end_offset(LeaderEpoch{5}, Offset{30}), end(5, 20));
  EXPECT_EQ(cache.end_offset(LeaderEpoch{6}, Offset{30}), end(5, 20));
  EXPECT_EQ(cache.end_offset(LeaderEpoch{3}, Offset{30}), end(2, 10));
  EXPECT_EQ(cache.end_offset(LeaderEpoch{1}, Offset{30}), end(1, 0));
  EXPECT_EQ(cache.end_offset(LeaderEpoch{8}, Offset{30}), end(-1, -1));
  EXPECT_EQ(cache.end_offset(no_leader_epoch, Offset{30}), end(-1, -1));
  EXPECT_EQ(LeaderEpochCache().end_offset(LeaderEpoch{0}, Offset{30}), end(-1, -1));
}

TEST(LeaderEpochCache, an_epoch_that_began_nowhere_is_replaced_by_the_next) {
  const auto cache = cache_of({{1, 0}, {2, 10}, {3, 10}});
  EXPECT_THAT(cache.entries(), ::testing::ElementsAre(EpochStart{LeaderEpoch{1}, Offset{0}},
                                                      EpochStart{LeaderEpoch{3}, Offset{10}}));
}

TEST(LeaderEpochCache, assigning_the_same_epoch_again_changes_nothing) {
  auto cache = cache_of({{1, 0}});
  EXPECT_FALSE(cache.assign(LeaderEpoch{1}, Offset{5}));
  EXPECT_FALSE(cache.assign(no_leader_epoch, Offset{5}));
  EXPECT_TRUE(cache.assign(LeaderEpoch{2}, Offset{5}));
}

TEST(LeaderEpochCache, truncation_from_the_end_forgets_epochs_that_begin_there) {
  auto cache = cache_of({{1, 0}, {2, 10}, {3, 20}});
  EXPECT_FALSE(cache.truncate_from_end(Offset{21}));
  EXPECT_TRUE(cache.truncate_from_end(Offset{20}));
  EXPECT_EQ(cache.latest()->epoch, LeaderEpoch{2});
}

TEST(LeaderEpochCache, truncation_from_the_start_keeps_the_epoch_that_contains_it) {
  auto cache = cache_of({{1, 0}, {2, 10}, {3, 20}});
  EXPECT_TRUE(cache.truncate_from_start(Offset{15}));
  EXPECT_EQ(*cache.earliest(), (EpochStart{LeaderEpoch{2}, Offset{15}}));
  EXPECT_FALSE(cache.truncate_from_start(Offset{15}));
  EXPECT_FALSE(cache.truncate_from_start(Offset{3}));
}

TEST(LeaderEpochCache, knows_the_epoch_of_an_offset) {
  const auto cache = cache_of({{2, 5}, {5, 10}});
  EXPECT_EQ(cache.epoch_of(Offset{4}), std::nullopt);
  EXPECT_EQ(cache.epoch_of(Offset{5}), LeaderEpoch{2});
  EXPECT_EQ(cache.epoch_of(Offset{99}), LeaderEpoch{5});
}

TEST(LeaderEpochCache, the_file_is_kafkas) {
  EXPECT_EQ(cache_of({{0, 0}}).format(), "0\n1\n0 0\n");
  const auto cache = cache_of({{2, 5}, {5, 10}});
  EXPECT_EQ(LeaderEpochCache::parse(cache.format()).value(), cache);
  EXPECT_EQ(LeaderEpochCache::parse("0\n0\n").value(), LeaderEpochCache());
}

TEST(LeaderEpochCache, a_damaged_file_is_refused_with_its_line) {
  for (const char* text : {"", "1\n0\n", "0\nx\n", "0\n2\n0 0\n", "0\n1\n0\n", "0\n1\n0 -1\n",
                           "0\n2\n1 0\n1 5\n", "0\n2\n1 9\n2 5\n", "0\n1\n99999999999 0\n"})
    EXPECT_EQ(LeaderEpochCache::parse(text).error().kind, ErrorKind::corrupt) << text;
  EXPECT_THAT(LeaderEpochCache::parse("0\n1\nabc\n").error().message, ::testing::HasSubstr("line 3"));
}

}  // namespace
}  // namespace barnabas::storage
