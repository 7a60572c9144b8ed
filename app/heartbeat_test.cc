#include "app/heartbeat.h"

#include <gtest/gtest.h>

#include <semaphore>

namespace barnabas::app {
namespace {

constexpr std::chrono::milliseconds period{1};

TEST(Heartbeat, beats_while_all_loops_turn) {
  network::EventLoops loops(2);
  loops.start();
  std::counting_semaphore<> beats(0);
  const Heartbeat heartbeat(loops, period, [&] { beats.release(); });
  for (int i = 0; i < 3; ++i) beats.acquire();
}

TEST(Heartbeat, stops_while_one_loop_hangs_and_goes_on_after_it) {
  network::EventLoops loops(2);
  loops.start();
  std::atomic<bool> hanging{false};
  std::atomic<int> beats_of_hanging{0};
  std::counting_semaphore<> beats(0);
  std::binary_semaphore entered(0);
  std::binary_semaphore leave(0);
  const Heartbeat heartbeat(loops, period, [&] {
    if (hanging) ++beats_of_hanging;
    beats.release();
  });
  beats.acquire();
  loops[1].post([&] {
    hanging = true;
    entered.release();
    leave.acquire();
  });
  entered.acquire();
  // The loop may have answered just before it hung: that is one beat, which another one may be running
  // beside.
  std::this_thread::sleep_for(50 * period);
  EXPECT_LE(beats_of_hanging, 2);
  hanging = false;
  leave.release();
  while (beats.try_acquire()) {
  }
  beats.acquire();
}

}  // namespace
}  // namespace barnabas::app
