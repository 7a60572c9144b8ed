#include "broker/fetch_session.h"

#include <gtest/gtest.h>

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using std::chrono::seconds;

FetchPartition wanted(std::string topic, int32_t index, int64_t offset = 0) {
  FetchPartition partition;
  partition.topic = std::move(topic);
  partition.index = PartitionIndex{index};
  partition.fetch_offset = Offset{offset};
  return partition;
}

TEST(FetchSession, a_partition_asked_for_again_keeps_what_was_sent) {
  FetchSession session(1, false, Instant{});
  session.add(wanted("a", 0, 5));
  session.partitions().front().sent_high_watermark = Offset{9};
  session.add(wanted("a", 0, 7));
  ASSERT_EQ(session.size(), 1U);
  EXPECT_EQ(session.partitions().front().fetch_offset, Offset{7});
  EXPECT_EQ(session.partitions().front().sent_high_watermark, Offset{9});
}

TEST(FetchSession, a_forgotten_partition_starts_anew_when_it_comes_back) {
  FetchSession session(1, false, Instant{});
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
  FetchSessionCache cache(10, 7);
  const auto session = cache.create(false, 1, Instant{});
  ASSERT_TRUE(session);
  EXPECT_GT(session->id(), 0);
  EXPECT_EQ(cache.continue_session(session->id(), 2, false, Instant{}).error,
            ErrorCode::invalid_fetch_session_epoch);
  EXPECT_EQ(cache.continue_session(session->id(), 1, false, Instant{}).session, session);
  EXPECT_EQ(cache.continue_session(session->id(), 1, false, Instant{}).error,
            ErrorCode::invalid_fetch_session_epoch);
  EXPECT_EQ(cache.continue_session(session->id(), 2, true, Instant{}).error,
            ErrorCode::fetch_session_topic_id_error);
  EXPECT_EQ(cache.continue_session(session->id(), 2, false, Instant{}).error, ErrorCode::none);
  EXPECT_EQ(cache.continue_session(session->id() + 1, 1, false, Instant{}).error,
            ErrorCode::fetch_session_id_not_found);
}

TEST(FetchSessionCache, a_full_cache_gives_no_session_while_all_are_in_use) {
  FetchSessionCache cache(2, 7);
  EXPECT_TRUE(cache.create(false, 1, Instant{}));
  EXPECT_TRUE(cache.create(false, 1, Instant{}));
  EXPECT_FALSE(cache.create(false, 100, Instant{} + seconds(60)));
  EXPECT_EQ(cache.size(), 2U);
}

TEST(FetchSessionCache, an_unused_session_makes_room_after_two_minutes) {
  FetchSessionCache cache(2, 7);
  const auto first = cache.create(false, 1, Instant{});
  const auto second = cache.create(false, 1, Instant{});
  (void)cache.continue_session(first->id(), 1, false, Instant{} + seconds(100));
  EXPECT_TRUE(cache.create(false, 1, Instant{} + seconds(121)));
  EXPECT_EQ(cache.continue_session(second->id(), 1, false, Instant{}).error,
            ErrorCode::fetch_session_id_not_found);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(FetchSessionCache, a_larger_session_displaces_a_small_old_one) {
  FetchSessionCache cache(1, 7);
  const auto small = cache.create(false, 1, Instant{});
  (void)cache.continue_session(small->id(), 1, false, Instant{} + seconds(120));
  EXPECT_FALSE(cache.create(false, 1, Instant{} + seconds(121)));
  EXPECT_TRUE(cache.create(false, 2, Instant{} + seconds(121)));
}

TEST(FetchSessionCache, sessions_that_take_too_much_memory_are_not_kept) {
  FetchSessionCache cache(10, 1);
  const auto small = cache.create(false, 1, Instant{});
  const auto large = cache.create(false, 1, Instant{});
  ASSERT_TRUE(small && large);
  small->add(wanted("a", 0));
  EXPECT_GT(small->bytes(), 100U);
  EXPECT_TRUE(cache.resized(*small, 1, small->bytes()));
  EXPECT_FALSE(cache.resized(*large, 1'000'000, FetchSessionCache::bytes_max));
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.bytes(), small->bytes());
  EXPECT_EQ(cache.continue_session(large->id(), 1, false, Instant{}).error,
            ErrorCode::fetch_session_id_not_found);
  cache.remove(small->id());
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST(FetchSession, counts_the_memory_of_its_names) {
  FetchSession session(1, false, Instant{});
  session.add(wanted(std::string(10'000, 'x'), 0));
  EXPECT_GT(session.bytes(), 20'000U);
  session.forget(std::string(10'000, 'x'), Uuid{}, PartitionIndex{0});
  EXPECT_EQ(session.bytes(), 0U);
}

}  // namespace
}  // namespace barnabas::broker
