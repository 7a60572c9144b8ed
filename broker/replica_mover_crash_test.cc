// A move with everything that may fail failing, at every call.

#include <cerrno>

#include "broker/replica_mover_test_support.h"

namespace barnabas::broker::moving {
namespace {

/// Produces until the move is over, or the disk.
void move_under_load(MovingBroker& broker) {
  if (broker.replicas->move(name, "/two") != ErrorCode::none) return;
  for (int i = 0; i < 6; ++i)
    if (!broker.produce()) break;
  eventually([&] { return broker.settled() || broker.disk.is_off(); });
  if (!broker.disk.is_off()) broker.produce();
}

uint64_t calls_of_a_move() {
  MovingBroker broker;
  EXPECT_TRUE(broker.start());
  while (broker.appended < 30) EXPECT_TRUE(broker.produce());
  broker.disk.reset_counters();
  move_under_load(broker);
  EXPECT_EQ(broker.places(), "/two/t-0");
  return broker.disk.calls();
}

void expect_whole_after_start(MovingBroker& broker, const std::string& place) {
  const auto started = broker.start();
  ASSERT_TRUE(started) << place << started.error().message;
  broker.check(place);
  ASSERT_TRUE(broker.produce()) << place;
  ASSERT_TRUE(eventually([&] { return broker.settled(); })) << place;
  const std::string places = broker.places();
  ASSERT_TRUE(places == "/one/t-0" || places == "/two/t-0") << place << places;
  ASSERT_EQ((*broker.node)->path_of(name) + "/t-0", places) << place;
  broker.check(place);
}

TEST(ReplicaMove, loses_nothing_when_the_power_goes_at_any_call) {
  const uint64_t calls = calls_of_a_move();
  for (uint64_t nth = 1; nth <= calls + 20 && !testing::Test::HasFailure(); ++nth) {
    MovingBroker broker;
    ASSERT_TRUE(broker.start());
    while (broker.appended < 30) ASSERT_TRUE(broker.produce());
    broker.disk.power_off_at(nth);
    move_under_load(broker);
    broker.crash();
    broker.disk.power_cut(nth % 3 == 0 ? io::Unsynced::lost : io::Unsynced::partly_kept, nth);
    expect_whole_after_start(broker, "power off at call " + std::to_string(nth) + ": ");
  }
}

TEST(ReplicaMove, loses_nothing_when_the_process_dies_at_any_call) {
  const uint64_t calls = calls_of_a_move();
  for (uint64_t nth = 1; nth <= calls + 20 && !testing::Test::HasFailure(); nth += 2) {
    MovingBroker broker;
    ASSERT_TRUE(broker.start());
    while (broker.appended < 30) ASSERT_TRUE(broker.produce());
    // All later calls fail; what was written stays.
    broker.disk.add_fault({.nth = nth, .for_good = true});
    move_under_load(broker);
    broker.crash();
    broker.disk.clear_faults();
    expect_whole_after_start(broker, "dead at call " + std::to_string(nth) + ": ");
  }
}

TEST(ReplicaMove, goes_on_or_is_given_up_when_any_call_of_one_directory_fails) {
  const uint64_t calls = calls_of_a_move();
  for (const std::string path : {"/one", "/two"}) {
    for (const int number : {EIO, ENOSPC}) {
      for (uint64_t nth = 1; nth <= calls && !testing::Test::HasFailure(); nth += number == EIO ? 1 : 2) {
        MovingBroker broker;
        ASSERT_TRUE(broker.start());
        while (broker.appended < 30) ASSERT_TRUE(broker.produce());
        broker.disk.add_fault({.path_part = path, .nth = nth, .system_error = number});
        move_under_load(broker);
        const bool met = !broker.disk.fault_pending();
        const std::string place =
            path + " error " + std::to_string(number) + " at call " + std::to_string(nth) + ": ";
        ASSERT_TRUE(eventually([&] { return broker.settled(); })) << place;
        broker.crash();
        broker.disk.clear_faults();
        expect_whole_after_start(broker, place);
        if (!met) break;
      }
    }
  }
}

}  // namespace
}  // namespace barnabas::broker::moving
