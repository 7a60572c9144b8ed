#include "broker/quotas/quotas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

namespace barnabas::broker {
namespace {

using namespace std::chrono_literals;
using metadata::QuotaEntity;

const Instant start = Instant() + 1000h;
const QuotaClient alice{"alice", "app"};

class QuotasTest : public ::testing::Test {
 protected:
  /// 0 takes the value away.
  void set(const QuotaEntity& entity, std::string_view key, double value) {
    auto next = std::make_shared<metadata::QuotaImage>();
    next->entity = entity;
    if (const auto* before = image_.client_quotas.find(entity)) next->values = (*before)->values;
    next->values[std::string(key)] = value;
    if (value == 0) next->values.erase(std::string(key));
    metadata::MetadataChanges changes;
    changes.changed_quotas = {entity};
    next->values.empty() ? (void)image_.client_quotas.erase(entity) : image_.client_quotas.put(next);
    quotas_.apply(changes, image_);
  }

  metadata::MetadataImage image_;
  Quotas quotas_{RateSettings{1s, 11}, RateSettings{1s, 11}};
};

TEST_F(QuotasTest, without_any_nobody_waits_and_nothing_is_counted) {
  EXPECT_FALSE(quotas_.any());
  EXPECT_EQ(quotas_.record(RateKind::produce, alice, 1e12, start), 0ms);
  set({{"user", "alice"}}, "producer_byte_rate", 1000);
  EXPECT_TRUE(quotas_.any());
  EXPECT_TRUE(quotas_.limits(RateKind::produce));
  EXPECT_FALSE(quotas_.limits(RateKind::fetch));
  EXPECT_EQ(quotas_.record(RateKind::produce, alice, 1, start), 0ms);
  set({{"user", "alice"}}, "producer_byte_rate", 0);
  EXPECT_FALSE(quotas_.any());
}

TEST_F(QuotasTest, waits_as_long_as_kafka_says) {
  set({{"client-id", "app"}}, "producer_byte_rate", 10'000);
  EXPECT_EQ(quotas_.record(RateKind::produce, alice, 100'000, start), 0ms);
  EXPECT_EQ(quotas_.record(RateKind::produce, alice, 100'000, start), 10s);
  set({{"client-id", "app"}}, "producer_byte_rate", 19'000);
  EXPECT_EQ(quotas_.record(RateKind::produce, alice, 0, start), 526ms) << "a change counts at once";
}

TEST_F(QuotasTest, kinds_do_not_meet) {
  set({{"client-id", "app"}}, "producer_byte_rate", 1);
  EXPECT_GT(quotas_.record(RateKind::produce, alice, 100'000, start), 0ms);
  EXPECT_EQ(quotas_.record(RateKind::fetch, alice, 100'000, start), 0ms);
  EXPECT_EQ(quotas_.record(RateKind::request, alice, 100'000, start), 0ms);
  EXPECT_EQ(quotas_.mutation_wait(alice, start), 0ms);
}

TEST_F(QuotasTest, time_of_threads_is_waited_for_no_longer_than_a_window) {
  set({{"user", std::nullopt}}, "request_percentage", 0.5);
  quotas_.note(RateKind::request, alice, 1e9, start);
  EXPECT_EQ(quotas_.record(RateKind::request, alice, 1, start), 1s);
}

TEST_F(QuotasTest, most_at_once_is_what_would_not_be_throttled) {
  EXPECT_TRUE(std::isinf(quotas_.most_at_once(RateKind::fetch, alice)));
  set({{"user", "alice"}}, "consumer_byte_rate", 500);
  EXPECT_EQ(quotas_.most_at_once(RateKind::fetch, alice), 5000);
  EXPECT_EQ(quotas_.record(RateKind::fetch, alice, 5000, start), 0ms);
  quotas_.note(RateKind::fetch, alice, -5000, start);
  EXPECT_EQ(quotas_.record(RateKind::fetch, alice, 5000, start), 0ms) << "it was taken back";
  EXPECT_GT(quotas_.record(RateKind::fetch, alice, 1, start), 0ms);
}

TEST_F(QuotasTest, values_that_no_controller_lets_in_bind_nobody) {
  for (const double value : {-1.0, std::nan("")}) {
    set({{"user", "alice"}}, "producer_byte_rate", value);
    EXPECT_EQ(quotas_.record(RateKind::produce, alice, 1e9, start), 0ms);
  }
}

TEST_F(QuotasTest, one_bucket_serves_all_threads) {
  set({{"client-id", "app"}}, "producer_byte_rate", 1000);
  std::vector<std::thread> threads;
  std::atomic<int> let_through = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i)
        let_through += quotas_.record(RateKind::produce, alice, 100, start) == 0ms ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(let_through, 100);  // 10,000 bytes, whoever sent them
}

TEST_F(QuotasTest, flood_of_client_ids_takes_bounded_memory) {
  QuotaBuckets<RateWindow> buckets(12s);
  const std::string padding(3000, 'x');
  for (int i = 0; i < 50'000; ++i) {
    buckets.use(std::to_string(i) + padding, start);
    ASSERT_LE(buckets.bytes(), QuotaBuckets<RateWindow>::bytes_max);
  }
  EXPECT_LT(buckets.size(), 6000U);
  for (int i = 0; i < 6000; ++i) buckets.use("later", start + 20s);
  EXPECT_EQ(buckets.size(), 1U) << "those that are idle go";
}

TEST_F(QuotasTest, busiest_buckets_survive_a_flood_of_others) {
  set({{"client-id", std::nullopt}}, "producer_byte_rate", 1000);
  EXPECT_GT(quotas_.record(RateKind::produce, alice, 100'000, start), 0ms);
  for (int i = 0; i < 100'000; ++i) {
    quotas_.record(RateKind::produce, {"mallory", std::to_string(i)}, 1, start);
    if (i % 1000 == 0) {
      ASSERT_GT(quotas_.record(RateKind::produce, alice, 1, start), 0ms);
    }
  }
}

TEST_F(QuotasTest, strict_mutations_are_refused_once_overdrawn) {
  set({{"user", "alice"}}, "controller_mutation_rate", 1);
  const auto client = std::make_shared<const QuotaClient>(alice);
  ClientMutationQuota strict(quotas_, client, true);
  EXPECT_TRUE(strict.admit(20));
  EXPECT_EQ(strict.wait_left(std::chrono::steady_clock::now()), 0ms);
  EXPECT_FALSE(strict.admit(1));
  const auto wait = strict.wait_left(std::chrono::steady_clock::now());
  EXPECT_GT(wait, 8s);
  EXPECT_LE(wait, 9s);
  ClientMutationQuota permissive(quotas_, client, false);
  EXPECT_TRUE(permissive.admit(5));
  EXPECT_GT(permissive.wait_left(std::chrono::steady_clock::now()), 12s);
  EXPECT_EQ(permissive.wait_left(std::chrono::steady_clock::now() + 1h), 0ms);
}

}  // namespace
}  // namespace barnabas::broker
