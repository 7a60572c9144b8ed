#include "broker/quotas/request_time.h"

#include <gtest/gtest.h>

namespace barnabas::broker {
namespace {

using namespace std::chrono_literals;

class RequestTimeTest : public ::testing::Test {
 protected:
  static constexpr auto window = 1h;  // which all of a test falls into

  /// So many percent of a thread's time, over ten windows.
  void allow(double percent) {
    const metadata::QuotaEntity entity{{"user", "alice"}};
    auto image = std::make_shared<metadata::QuotaImage>();
    image->entity = entity;
    if (percent > 0) image->values[std::string(metadata::request_percentage)] = percent;
    metadata::MetadataChanges changes;
    changes.changed_quotas = {entity};
    image_.client_quotas.put(image);
    quotas_.apply(changes, image_);
  }
  void request(std::chrono::milliseconds takes = 0ms) {
    const RequestTime time(&quotas_, alice_, connection_);
    spin(takes);
  }
  static void spin(std::chrono::nanoseconds time) {
    const Instant end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  /// Whether so much time, and not much more, was counted.
  ::testing::AssertionResult was_counted(std::chrono::nanoseconds least, std::chrono::nanoseconds most) {
    const auto exceeds = [&](std::chrono::nanoseconds time) {
      allow(percent_of_thread(time) / std::chrono::duration<double>(10 * window).count());
      return quotas_.record(RateKind::request, *alice_, 0, std::chrono::steady_clock::now()) > 0ms;
    };
    if (!exceeds(least)) return ::testing::AssertionFailure() << "less was counted";
    if (exceeds(most)) return ::testing::AssertionFailure() << "more was counted";
    return ::testing::AssertionSuccess();
  }

  metadata::MetadataImage image_;
  Quotas quotas_{RateSettings{window, 11}, RateSettings{1s, 11}};
  std::shared_ptr<const QuotaClient> alice_ = std::make_shared<const QuotaClient>("alice", "app");
  network::ConnectionContext connection_;
};

TEST_F(RequestTimeTest, what_the_connection_took_before_its_first_request_counts) {
  allow(1);
  connection_.busy_time = 3s;  // the handshake, for one
  connection_.busy_since = std::chrono::steady_clock::now() - 2s;
  request();
  EXPECT_EQ(connection_.busy_time, 0ns);
  EXPECT_TRUE(was_counted(4'900ms, 6s));
}

TEST_F(RequestTimeTest, each_time_counts_once_however_many_requests_a_turn_has) {
  allow(1);
  const Instant began = std::chrono::steady_clock::now();
  connection_.busy_since = began;
  for (int i = 0; i < 3; ++i) {
    spin(10ms);
    request(10ms);
  }
  // Up to the end of the last handler everything is counted, and nothing is to be counted once more.
  const Instant ended = std::chrono::steady_clock::now();
  EXPECT_GE(*connection_.busy_since, began + 60ms);
  EXPECT_EQ(connection_.busy_time, 0ns);
  EXPECT_TRUE(was_counted(59ms, ended - began + 1ms));
}

TEST_F(RequestTimeTest, turn_that_is_not_measured_leaves_no_credit_behind) {
  allow(1);
  for (int i = 0; i < 3; ++i) request(10ms);
  EXPECT_FALSE(connection_.busy_since);
  EXPECT_EQ(connection_.busy_time, 0ns);
  connection_.busy_time = 1s;
  request();
  EXPECT_TRUE(was_counted(1'029ms, 1'500ms));
}

TEST_F(RequestTimeTest, what_comes_after_the_last_request_counts_when_the_connection_ends) {
  allow(1);
  connection_.busy_since = std::chrono::steady_clock::now();
  request();
  connection_.busy_time = 2s;  // the answer was sent
  connection_.busy_since = std::chrono::steady_clock::now() - 1s;
  RequestTime::settle(quotas_, connection_);
  RequestTime::settle(quotas_, connection_);
  EXPECT_TRUE(was_counted(2'900ms, 4s));
}

TEST_F(RequestTimeTest, connection_that_nobody_pays_for_ends_without_a_count) {
  allow(1);
  connection_.busy_time = 2s;
  RequestTime::settle(quotas_, connection_);
  EXPECT_FALSE(was_counted(1ms, 4s));
}

}  // namespace
}  // namespace barnabas::broker
