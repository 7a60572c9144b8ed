#include "base/rate_window.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace barnabas {
namespace {

using namespace std::chrono_literals;

const Instant start = Instant() + 1000h;

TEST(RateWindow, first_burst_counts_as_if_it_came_over_all_full_windows) {
  RateWindow window;
  const RateSettings settings{1s, 11};
  window.record(settings, 200'000, start);
  EXPECT_DOUBLE_EQ(window.rate(settings, start), 20'000);
  EXPECT_EQ(window.excess(settings, 19'000, start), 526ms);  // (20000 - 19000) / 19000 * 10 s
  EXPECT_EQ(window.excess(settings, 20'000, start), 0ms);
  EXPECT_EQ(window.excess(settings, 10'000, start), 10s);
}

TEST(RateWindow, what_is_older_than_all_windows_counts_no_more) {
  RateWindow window;
  const RateSettings settings{1s, 3};
  window.record(settings, 3000, start);
  EXPECT_GT(window.rate(settings, start + 2999ms), 0);
  EXPECT_EQ(window.rate(settings, start + 3s), 0);
}

TEST(RateWindow, what_is_taken_back_counts_no_more) {
  RateWindow window;
  const RateSettings settings;
  window.record(settings, 500, start);
  window.record(settings, 1000, start + 10ms);
  window.record(settings, -1000, start + 10ms);
  EXPECT_DOUBLE_EQ(window.rate(settings, start), 50);
}

/// Whoever sends as much as he likes and waits as long as he is told keeps to the bound in the long run.
TEST(RateWindow, obedient_senders_keep_to_the_bound) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const RateSettings settings{std::chrono::milliseconds(200 + random() % 2000),
                                2 + static_cast<int>(random() % 12)};
    const double bound = 10.0 + static_cast<double>(random() % 100'000);
    RateWindow window;
    Instant now = start;
    double sent = 0;
    const double largest = bound * static_cast<double>(settings.whole().count()) / 1000.0;
    while (now - start < settings.whole() * 40) {
      const double size = largest * static_cast<double>(1 + random() % 1000) / 2000.0;
      window.record(settings, size, now);
      sent += size;
      now += window.excess(settings, bound, now) + std::chrono::milliseconds(random() % 3);
    }
    const double allowed = bound * std::chrono::duration<double>(now - start).count();
    // Kafka pads young windows, so what was told is a little short.
    EXPECT_LE(sent, allowed * 1.25 + 2 * largest) << round;
    EXPECT_GE(sent, allowed * 0.5) << round;
  }
}

/// The same as Kafka's definition, written down another way: every event is kept, and windows are cut as
/// events come.
TEST(RateWindow, random_events_give_the_rate_of_a_simple_model) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    const RateSettings settings{std::chrono::milliseconds(50 + random() % 500),
                                2 + static_cast<int>(random() % 8)};
    struct Cut {
      Instant start, last;
      double value;
    };
    std::deque<Cut> cuts;  // at most samples + 1
    RateWindow window;
    Instant now = start;
    for (int i = 0; i < 500; ++i) {
      now += std::chrono::milliseconds(random() % 10 == 0 ? random() % 4000 : random() % 100);
      const double value = static_cast<double>(random() % 1000);
      window.record(settings, value, now);
      if (cuts.empty() || now - cuts.back().start >= settings.window) cuts.push_back({now, now, 0});
      if (cuts.size() > static_cast<std::size_t>(settings.samples) + 1) cuts.pop_front();
      cuts.back().value += value;
      cuts.back().last = now;

      while (!cuts.empty() && now - cuts.front().last >= settings.whole()) cuts.pop_front();
      double sum = 0;
      for (const Cut& cut : cuts) sum += cut.value;
      auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - cuts.front().start);
      const auto least = settings.window * (settings.samples - 1) + elapsed % settings.window;
      ASSERT_DOUBLE_EQ(window.rate(settings, now),
                       sum * 1000 / static_cast<double>(std::max({elapsed, least, 1ms}).count()))
          << round << " " << i;
    }
  }
}

TEST(TokenBucket, begins_full_and_may_be_overdrawn_once) {
  TokenBucket bucket;
  EXPECT_DOUBLE_EQ(bucket.tokens(2, 10, start), 20);
  bucket.take(15, 2, 10, start);
  bucket.take(15, 2, 10, start);
  EXPECT_DOUBLE_EQ(bucket.tokens(2, 10, start), -10);
  EXPECT_EQ(bucket.excess(2, 10, start), 5s);
  EXPECT_EQ(bucket.excess(2, 10, start + 4s), 1s);
  EXPECT_EQ(bucket.excess(2, 10, start + 5s), 0s);
  EXPECT_DOUBLE_EQ(bucket.tokens(2, 10, start + 1h), 20) << "no more than a burst";
}

TEST(TokenBucket, another_rate_counts_at_once) {
  TokenBucket bucket;
  bucket.take(30, 2, 10, start);
  EXPECT_EQ(bucket.excess(2, 10, start), 5s);
  EXPECT_EQ(bucket.excess(20, 10, start), 500ms);
}

TEST(TokenBucket, obedient_clients_keep_to_the_rate) {
  std::mt19937 random(3);
  TokenBucket bucket;
  Instant now = start;
  double taken = 0;
  while (now - start < 1h) {
    const double count = static_cast<double>(1 + random() % 50);
    now += bucket.excess(5, 11, now);
    bucket.take(count, 5, 11, now);
    taken += count;
  }
  EXPECT_LE(taken, 3600 * 5 + 55 + 100);
  EXPECT_GE(taken, 3600 * 5);
}

TEST(ThrottleMs, fits_into_an_answer_whatever_the_quota) {
  RateWindow window;
  const RateSettings settings;
  window.record(settings, 1e18, start);
  EXPECT_EQ(throttle_ms(window.excess(settings, 1e-9, start)), INT32_MAX);
  EXPECT_EQ(throttle_ms(5ms), 5);
  TokenBucket bucket;
  bucket.take(1e18, 1e-9, 11, start);
  EXPECT_EQ(throttle_ms(bucket.excess(1e-9, 11, start)), INT32_MAX);
}

}  // namespace
}  // namespace barnabas
