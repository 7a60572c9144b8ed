#include "coordinator/timers.h"

#include <gtest/gtest.h>

namespace barnabas::coordinator {
namespace {

using std::chrono::seconds;

Instant at(int second) {
  return Instant{} + seconds(second);
}

std::vector<std::string> due(Timers& timers, Instant now) {
  std::vector<std::string> names;
  while (auto one = timers.take_due(now)) names.push_back(one->name);
  return names;
}

TEST(Timers, come_in_the_order_of_their_time_and_once) {
  Timers timers;
  timers.set("late", at(9), {});
  timers.set("early", at(3), {});
  EXPECT_EQ(timers.next(), at(3));
  EXPECT_EQ(due(timers, at(2)), std::vector<std::string>{});
  EXPECT_EQ(due(timers, at(10)), (std::vector<std::string>{"early", "late"}));
  EXPECT_EQ(due(timers, at(10)), std::vector<std::string>{});
  EXPECT_EQ(timers.next(), std::nullopt);
}

TEST(Timers, the_last_time_that_was_set_counts) {
  Timers timers;
  timers.set("a", at(5), {});
  timers.set("a", at(9), {});
  timers.set("b", at(9), {});
  timers.set("b", at(5), {});
  EXPECT_TRUE(timers.move("b", at(6)));
  EXPECT_FALSE(timers.move("c", at(6)));
  EXPECT_EQ(due(timers, at(5)), std::vector<std::string>{});
  EXPECT_EQ(due(timers, at(6)), std::vector<std::string>{"b"});
  EXPECT_EQ(due(timers, at(8)), std::vector<std::string>{});
  EXPECT_EQ(due(timers, at(9)), std::vector<std::string>{"a"});
}

TEST(Timers, a_cancelled_one_does_not_come_and_its_name_is_free_again) {
  Timers timers;
  timers.set("a", at(5), {});
  timers.cancel("a");
  EXPECT_EQ(timers.next(), std::nullopt);
  timers.set("a", at(7), {});
  EXPECT_EQ(due(timers, at(6)), std::vector<std::string>{});
  EXPECT_EQ(due(timers, at(7)), std::vector<std::string>{"a"});
}

TEST(Timers, what_was_cancelled_or_moved_leaves_nothing_behind) {
  Timers timers;
  timers.set("stays", at(1'000'000), {});
  for (int i = 0; i < 10'000; ++i) {
    timers.set("moved", at(20'000 - i), {});
    timers.set("cancelled", at(500'000 + i), {});
    timers.cancel("cancelled");
  }
  EXPECT_EQ(timers.size(), 2u);
  EXPECT_EQ(due(timers, at(10'001)), std::vector<std::string>{"moved"});
}

}  // namespace
}  // namespace barnabas::coordinator
