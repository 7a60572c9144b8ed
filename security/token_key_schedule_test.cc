#include "security/token_key_schedule.h"

#include <gtest/gtest.h>

namespace barnabas::security {
namespace {

using std::chrono::milliseconds;

constexpr Instant start{std::chrono::hours(1000)};
const TokenKeyEndpoint endpoint{.url = "",
                                .refresh = milliseconds(60'000),
                                .retry_backoff = milliseconds(100),
                                .retry_backoff_max = milliseconds(1000)};

milliseconds wait(const TokenKeySchedule& schedule, Instant now) {
  return std::chrono::duration_cast<milliseconds>(schedule.next() - now);
}

TEST(TokenKeySchedule, fetches_at_once_and_then_again_and_again) {
  TokenKeySchedule schedule(endpoint, start);
  EXPECT_EQ(schedule.next(), start);
  schedule.began(start);
  schedule.succeeded(start);
  EXPECT_EQ(wait(schedule, start), milliseconds(60'000));
}

TEST(TokenKeySchedule, failures_wait_twice_as_long_each_up_to_a_bound) {
  TokenKeySchedule schedule(endpoint, start);
  for (const int expected : {100, 200, 400, 800, 1000, 1000}) {
    schedule.failed(start);
    EXPECT_EQ(wait(schedule, start), milliseconds(expected));
  }
  schedule.succeeded(start);
  schedule.failed(start);
  EXPECT_EQ(wait(schedule, start), milliseconds(100));
}

TEST(TokenKeySchedule, a_missed_key_hastens_the_next_fetch_but_not_beyond_what_the_endpoint_bears) {
  TokenKeySchedule schedule(endpoint, start);
  schedule.began(start);
  schedule.succeeded(start);
  schedule.missed(start + milliseconds(10));
  EXPECT_EQ(wait(schedule, start), milliseconds(1000));
  schedule.missed(start + milliseconds(500));
  EXPECT_EQ(wait(schedule, start), milliseconds(1000));
  schedule.began(start + milliseconds(1000));
  schedule.succeeded(start + milliseconds(1000));
  schedule.missed(start + milliseconds(30'000));
  EXPECT_EQ(wait(schedule, start), milliseconds(30'000)) << "at once, when nobody has fetched for a while";
}

TEST(TokenKeySchedule, a_missed_key_never_puts_a_fetch_off) {
  TokenKeySchedule schedule(endpoint, start);
  schedule.began(start);
  schedule.failed(start);
  schedule.missed(start);
  EXPECT_EQ(wait(schedule, start), milliseconds(100));
}

TEST(TokenKeySchedule, settings_out_of_all_bounds_do_not_overflow) {
  TokenKeySchedule schedule({.url = "",
                             .refresh = milliseconds::max(),
                             .retry_backoff = milliseconds(-5),
                             .retry_backoff_max = milliseconds::max()},
                            start);
  schedule.succeeded(start);
  EXPECT_GT(schedule.next(), start + std::chrono::hours(24));
  for (int i = 0; i < 100; ++i) schedule.failed(start);
  EXPECT_GT(schedule.next(), start);
}

}  // namespace
}  // namespace barnabas::security
