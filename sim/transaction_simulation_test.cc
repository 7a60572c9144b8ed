#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/test_seeds.h"
#include "sim/invariants.h"
#include "sim/simulated_broker.h"
#include "sim/simulated_producer.h"
#include "sim/world.h"

/// Producers, their coordinator and the partitions in one thread on virtual time, with messages that get
/// lost, come twice and late, and a machine that dies.
namespace barnabas::sim {
namespace {

constexpr int64_t run_ms = 20'000;

struct Result {
  Invariants::Broken broken;
  int64_t appended = 0;
  int64_t crashes = 0;
  int64_t committed = 0;
};

class Simulation {
 public:
  Simulation(uint64_t seed, int64_t die_after) : world_(seed), broker_(world_, die_after) {}

  Result run() {
    const int64_t ids = 1 + world_.below(3);
    for (int64_t i = 0; i < ids; ++i) start_producer("id-" + std::to_string(i), 1);
    if (auto broken = run_until(run_ms)) return result(broken);
    world_.faults = false;
    // Whoever still runs comes to its end, then the coordinator to that of what nobody ends.
    if (auto broken = run_until(run_ms + 200'000)) return result(broken);
    return result(invariants_.at_the_end());
  }

 private:
  void start_producer(const std::string& id, int64_t instance) {
    auto producer = std::make_shared<SimulatedProducer>(world_, broker_, history_, id, instance,
                                                        static_cast<int>(1 + world_.below(2)), 4);
    producer->start();
    producers_.push_back(producer);
    // Another one, be this one over, or a zombie from then on.
    if (instance < 5)
      world_.after(500 + world_.below(4'000), [this, id, instance] { start_producer(id, instance + 1); });
  }

  Invariants::Broken run_until(int64_t end_ms) {
    while (true) {
      const bool more = world_.step(std::min(end_ms, next_tick_));
      if (!more) {
        if (next_tick_ > end_ms) return std::nullopt;
        world_.skip_to(next_tick_);
        next_tick_ += 100;
      }
      broker_.settle();
      if (auto broken = invariants_.after_event())
        return "at " + std::to_string(world_.now_ms()) + " ms: " + *broken;
    }
  }

  Result result(Invariants::Broken broken) {
    return {std::move(broken), broker_.appended(), broker_.crashes(), history_.acknowledged_commits};
  }

  World world_;
  History history_;
  SimulatedBroker broker_;
  Invariants invariants_{broker_, history_};
  std::vector<std::shared_ptr<SimulatedProducer>> producers_;
  int64_t next_tick_ = 0;
};

TEST(TransactionSimulation, holds_what_is_promised_whatever_gets_lost_or_dies) {
  const TestSeeds seeds = test_seeds(4000);
  int64_t committed = 0, crashes = 0;
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const Result result = Simulation(seed, 0).run();
    ASSERT_FALSE(result.broken) << *result.broken << "\nagain: BARNABAS_SEED=" << seed;
    committed += result.committed;
    crashes += result.crashes;
  }
  const auto count = static_cast<int64_t>(seeds.last - seeds.first + 1);
  RecordProperty("committed", std::to_string(committed));
  EXPECT_GE(committed, count) << "too few transactions get through to show anything";
  EXPECT_GE(crashes, count);
}

TEST(TransactionSimulation, dies_after_each_record) {
  const TestSeeds seeds = test_seeds(1, "BARNABAS_DYING");
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    int64_t appended = 1;
    for (int64_t die_after = 1; die_after <= appended; die_after += few_test_seeds ? 7 : 1) {
      const Result result = Simulation(seed, die_after).run();
      ASSERT_FALSE(result.broken) << *result.broken << "\nagain: BARNABAS_SEED=" << seed << ", dying after "
                                  << die_after << " records";
      appended = std::max(appended, result.appended);
    }
  }
}

}  // namespace
}  // namespace barnabas::sim
