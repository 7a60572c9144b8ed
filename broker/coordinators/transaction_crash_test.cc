#include <algorithm>

#include "base/random.h"
#include "base/test_seeds.h"
#include "broker/coordinators/transaction_machine.h"

namespace barnabas::broker {
namespace {

using testing::TestProducer;
using testing::TransactionMachine;

constexpr int32_t partitions = 3;

/// A transaction of which a test knows what it wrote and what it was told.
struct Attempt {
  std::string value;  ///< of all its records
  std::vector<int32_t> written;
  bool wants_commit = false;
  bool told = false;  ///< that it ended as it wanted
};

/// Runs transactions until the disk is off or they are done.
std::vector<Attempt> run(TransactionMachine& machine, SeededRandom& random, const std::string& id,
                         int count) {
  std::vector<Attempt> attempts;
  auto producer = machine.init(id);
  for (int i = 0; producer && i < count; ++i) {
    Attempt& attempt = attempts.emplace_back();
    attempt.value = id + std::to_string(i);
    attempt.wants_commit = !random.one_in(3);
    for (int32_t index = 0; index < partitions; ++index) {
      if (random.one_in(3)) continue;
      // It may be there, though nobody was told.
      attempt.written.push_back(index);
      if (!machine.write(*producer, "t", index, attempt.value)) return attempts;
    }
    if (attempt.written.empty()) {
      attempts.pop_back();
      continue;
    }
    if (!machine.end_and_go_on(*producer, attempt.wants_commit)) return attempts;
    attempt.told = true;
  }
  return attempts;
}

/// Which of a partition's values are committed.
std::vector<std::string> committed(TransactionMachine& machine, int32_t index) {
  std::vector<std::string> result;
  std::vector<std::string> open;
  for (const std::string& one : machine.content("t", index)) {
    if (one == "commit") result.insert(result.end(), open.begin(), open.end());
    if (one == "commit" || one == "abort") {
      open.clear();
    } else {
      open.push_back(one);
    }
  }
  return result;
}

void check(TransactionMachine& machine, const std::vector<Attempt>& attempts, uint64_t seed) {
  std::vector<std::vector<std::string>> seen;
  for (int32_t index = 0; index < partitions; ++index) {
    EXPECT_TRUE(machine.is_decided("t", index)) << "seed " << seed << ": a transaction hangs in " << index;
    seen.push_back(committed(machine, index));
  }
  for (const Attempt& attempt : attempts) {
    const auto count = std::ranges::count_if(attempt.written, [&](int32_t index) {
      return std::ranges::count(seen[static_cast<std::size_t>(index)], attempt.value) == 1;
    });
    const auto all = std::ssize(attempt.written);
    if (attempt.told)
      EXPECT_EQ(count, attempt.wants_commit ? all : 0) << "seed " << seed << " " << attempt.value;
    else
      EXPECT_TRUE(count == 0 || (attempt.wants_commit && count == all))
          << "seed " << seed << " " << attempt.value;
  }
}

/// The power is cut at a random call of the disk, and cut again while the start carries out what was decided.
void run_power_cuts(uint64_t seed) {
  SeededRandom random(seed);
  TransactionMachine machine;
  ASSERT_TRUE(machine.start());
  ASSERT_TRUE(machine.create_topic("t", partitions));
  ASSERT_TRUE(machine.wait_until_ready());
  machine.disk.power_off_at(random.below(400) + 1);
  const auto attempts = run(machine, random, "id", 12);
  machine.power_cut(seed);
  if (random.one_in(2)) {
    machine.disk.power_off_at(random.below(200) + 1);
    if (machine.start()) (void)machine.state_of("id");
    machine.power_cut(seed + 1);
  }
  ASSERT_TRUE(machine.start()) << "seed " << seed;
  // A new producer of the id finds the old one's transaction ended.
  ASSERT_TRUE(machine.init("id")) << "seed " << seed;
  check(machine, attempts, seed);
}

TEST(TransactionPowerCut, all_or_nothing_and_what_was_told_stays_and_nothing_hangs) {
  const TestSeeds seeds = test_seeds(25);
  for (uint64_t seed = seeds.first; seed <= seeds.last && !::testing::Test::HasFailure(); ++seed)
    run_power_cuts(seed);
}

}  // namespace
}  // namespace barnabas::broker
