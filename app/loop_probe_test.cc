#include "app/loop_probe.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>

namespace barnabas::app {
namespace {

TEST(LoopProbe, tells_once_all_loops_have_turned) {
  network::EventLoops loops(3);
  loops.start();
  LoopProbe probe(loops);
  for (int i = 0; i < 100; ++i) {
    std::promise<bool> told;
    probe.ask([&](bool turn) { told.set_value(turn); });
    EXPECT_TRUE(told.get_future().get());
  }
}

TEST(LoopProbe, tells_nobody_while_a_loop_stands_still_and_all_when_it_goes_on) {
  network::EventLoops loops(2);
  loops.start();
  LoopProbe probe(loops);
  std::promise<void> go_on;
  loops[1].post([&] { go_on.get_future().wait(); });
  constexpr int askers = 10;
  std::latch told(askers);
  std::atomic<int> count = 0;
  for (int i = 0; i < askers; ++i)
    probe.ask([&](bool turn) {
      count += turn;
      told.count_down();
    });
  // The other loop turns; that must not be enough.
  std::promise<void> turned;
  loops[0].post([&] { turned.set_value(); });
  turned.get_future().wait();
  EXPECT_EQ(count, 0);
  go_on.set_value();
  told.wait();
  EXPECT_EQ(count, askers);
}

TEST(LoopProbe, gathers_no_end_of_those_who_wait) {
  network::EventLoops loops(1);
  LoopProbe probe(loops);  // they do not run
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) probe.ask([&](bool turn) { refused += !turn; });
  EXPECT_GT(refused, 9'000);
}

}  // namespace
}  // namespace barnabas::app
