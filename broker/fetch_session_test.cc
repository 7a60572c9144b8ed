#include "broker/fetch_session.h"

#include <gtest/gtest.h>

#include <set>

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using std::chrono::seconds;

const std::string alice = "User:alice";
const std::string bob = "User:bob";

FetchPartition wanted(std::string topic, int32_t index, int64_t offset = 0) {
  FetchPartition partition;
  partition.topic = std::move(topic);
  partition.index = PartitionIndex{index};
  partition.fetch_offset = Offset{offset};
  return partition;
}

TEST(FetchSession, a_partition_asked_for_again_keeps_what_was_sent) {
  FetchSession session(1, "", false, Instant{});
  session.add(wanted("a", 0, 5));
  session.partitions().front().sent_high_watermark = Offset{9};
  session.add(wanted("a", 0, 7));
  ASSERT_EQ(session.size(), 1U);
  EXPECT_EQ(session.partitions().front().fetch_offset, Offset{7});
  EXPECT_EQ(session.partitions().front().sent_high_watermark, Offset{9});
}

TEST(FetchSession, a_forgotten_partition_starts_anew_when_it_comes_back) {
  FetchSession session(1, "", false, Instant{});
  session.add(wanted("a", 0, 5));
  session.add(wanted("a", 1));
  session.partitions().front().sent_high_watermark = Offset{9};
  session.forget("a", Uuid{}, PartitionIndex{0});
  session.forget("b", Uuid{}, PartitionIndex{0});
  EXPECT_EQ(session.size(), 1U);
  session.add(wanted("a", 0, 2));
  EXPECT_EQ(session.partitions().back().sent_high_watermark, no_offset);
}

TEST(FetchSessionCache, epochs_go_up_by_one_and_others_are_refused) {
  FetchSessionCache cache(10);
  const auto session = cache.create(alice, false, 1, Instant{});
  ASSERT_TRUE(session);
  EXPECT_GT(session->id(), 0);
  EXPECT_EQ(cache.continue_session(session->id(), alice, 2, false, Instant{}).error,
            ErrorCode::invalid_fetch_session_epoch);
  EXPECT_EQ(cache.continue_session(session->id(), alice, 1, false, Instant{}).session, session);
  EXPECT_EQ(cache.continue_session(session->id(), alice, 1, false, Instant{}).error,
            ErrorCode::invalid_fetch_session_epoch);
  EXPECT_EQ(cache.continue_session(session->id(), alice, 2, true, Instant{}).error,
            ErrorCode::fetch_session_topic_id_error);
  EXPECT_EQ(cache.continue_session(session->id(), alice, 2, false, Instant{}).error, ErrorCode::none);
  EXPECT_EQ(cache.continue_session(session->id() + 1, alice, 1, false, Instant{}).error,
            ErrorCode::fetch_session_id_not_found);
}

TEST(FetchSessionCache, a_session_is_there_for_its_owner_only) {
  FetchSessionCache cache(10);
  const auto session = cache.create(alice, false, 1, Instant{});
  ASSERT_TRUE(session);
  for (const int32_t epoch : {1, 2}) {
    const auto refused = cache.continue_session(session->id(), bob, epoch, false, Instant{});
    EXPECT_EQ(refused.error, ErrorCode::fetch_session_id_not_found);
    EXPECT_FALSE(refused.session);
  }
  cache.remove(session->id(), bob);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.continue_session(session->id(), alice, 1, false, Instant{}).session, session);
  cache.remove(session->id(), alice);
  EXPECT_EQ(cache.size(), 0U);
}

TEST(FetchSessionCache, an_id_that_was_given_anew_is_not_removed_with_its_old_session) {
  FetchSessionCache cache(10);
  const auto session = cache.create(alice, false, 1, Instant{});
  const FetchSession before(session->id(), alice, false, Instant{});
  cache.remove(before);
  EXPECT_EQ(cache.size(), 1U);
  cache.remove(*session);
  EXPECT_EQ(cache.size(), 0U);
}

TEST(FetchSessionCache, ids_are_positive_and_not_those_of_another_start) {
  std::set<int32_t> ids;
  for (int start = 0; start < 4; ++start) {
    FetchSessionCache cache(50);
    for (int i = 0; i < 50; ++i) ids.insert(cache.create(alice, false, 1, Instant{})->id());
  }
  EXPECT_GT(*ids.begin(), 0);
  // Twice the same in 200 of 2^31 comes once in a hundred thousand runs.
  EXPECT_EQ(ids.size(), 200U);
  // Ids that only count up from somewhere would lie in a small part of what there is.
  EXPECT_GT(*ids.rbegin() - *ids.begin(), 1 << 30);
}

TEST(FetchSessionCache, a_full_cache_gives_no_session_while_all_are_in_use) {
  FetchSessionCache cache(2);
  EXPECT_TRUE(cache.create(alice, false, 1, Instant{}));
  EXPECT_TRUE(cache.create(alice, false, 1, Instant{}));
  EXPECT_FALSE(cache.create(alice, false, 100, Instant{} + seconds(60)));
  EXPECT_EQ(cache.size(), 2U);
}

TEST(FetchSessionCache, an_unused_session_makes_room_after_two_minutes) {
  FetchSessionCache cache(2);
  const auto first = cache.create(alice, false, 1, Instant{});
  const auto second = cache.create(alice, false, 1, Instant{});
  (void)cache.continue_session(first->id(), alice, 1, false, Instant{} + seconds(100));
  EXPECT_TRUE(cache.create(alice, false, 1, Instant{} + seconds(121)));
  EXPECT_EQ(cache.continue_session(second->id(), alice, 1, false, Instant{}).error,
            ErrorCode::fetch_session_id_not_found);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(FetchSessionCache, a_larger_session_displaces_a_small_old_one) {
  FetchSessionCache cache(1);
  const auto small = cache.create(alice, false, 1, Instant{});
  (void)cache.continue_session(small->id(), alice, 1, false, Instant{} + seconds(120));
  EXPECT_FALSE(cache.create(alice, false, 1, Instant{} + seconds(121)));
  EXPECT_TRUE(cache.create(alice, false, 2, Instant{} + seconds(121)));
}

TEST(FetchSessionCache, sessions_that_take_too_much_memory_are_not_kept) {
  FetchSessionCache cache(10);
  const auto small = cache.create(alice, false, 1, Instant{});
  const auto large = cache.create(alice, false, 1, Instant{});
  ASSERT_TRUE(small && large);
  small->add(wanted("a", 0));
  EXPECT_GT(small->bytes(), 100U);
  EXPECT_TRUE(cache.resized(*small, 1, small->bytes()));
  EXPECT_FALSE(cache.resized(*large, 1'000'000, FetchSessionCache::bytes_max));
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.bytes(), small->bytes());
  EXPECT_EQ(cache.continue_session(large->id(), alice, 1, false, Instant{}).error,
            ErrorCode::fetch_session_id_not_found);
  cache.remove(*small);
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST(FetchSession, counts_the_memory_of_its_names) {
  FetchSession session(1, "", false, Instant{});
  session.add(wanted(std::string(10'000, 'x'), 0));
  EXPECT_GT(session.bytes(), 20'000U);
  session.forget(std::string(10'000, 'x'), Uuid{}, PartitionIndex{0});
  EXPECT_EQ(session.bytes(), 0U);
}

}  // namespace
}  // namespace barnabas::broker
