// Random histories of the metadata log on a disk that fails, fills up or loses its power at every call in
// turn. Whatever happens, the next start finds what was acknowledged last, or the change that was under way
// as a whole. More seeds: BARNABAS_SEEDS=100; one seed again: BARNABAS_SEED=7.

#include "base/test_seeds.h"
#include "cluster/metadata_log_test_support.h"

namespace barnabas::cluster::testing {
namespace {

enum class Trouble { power_cut_loses_all, power_cut_keeps_some, failed_call, full_disk };
constexpr Trouble troubles[] = {Trouble::power_cut_loses_all, Trouble::power_cut_keeps_some,
                                Trouble::failed_call, Trouble::full_disk};

void plan(io::FakeDisk& disk, Trouble trouble, uint64_t call) {
  constexpr int no_space = 28;
  switch (trouble) {
    case Trouble::power_cut_loses_all:
    case Trouble::power_cut_keeps_some:
      return disk.power_off_at(call);
    case Trouble::failed_call:
      return disk.fail_call(call);
    case Trouble::full_disk:
      return disk.fail_call(call, no_space);
  }
}

/// Two runs with a clean stop between them and some changes each.
bool live(History& history) {
  for (int run = 0; run < 2; ++run) {
    if (!history.start(run > 0)) return false;
    for (int i = 0; i < 5; ++i) {
      if (!history.step()) return false;
    }
    if (!history.stop()) return false;
  }
  return true;
}

/// Whether the planned trouble came before the history was over.
bool survives(Trouble trouble, uint64_t seed, uint64_t call) {
  io::FakeDisk disk;
  EXPECT_TRUE(disk.create_directories("/data"));
  EXPECT_TRUE(disk.sync_directory("/"));
  History history(disk, seed);
  plan(disk, trouble, call);
  const bool finished = live(history);
  const bool is_power = trouble == Trouble::power_cut_loses_all || trouble == Trouble::power_cut_keeps_some;
  const bool met = is_power ? disk.is_off() : !disk.fault_pending();
  history.crash();
  if (!met) {
    EXPECT_TRUE(finished) << history.error;
    return false;
  }
  if (disk.is_off() || seed % 2 == 0) {
    disk.power_cut(trouble == Trouble::power_cut_keeps_some ? io::Unsynced::partly_kept : io::Unsynced::lost,
                   seed * 1000 + call);
  }
  disk.clear_faults();

  const std::string before = history.acknowledged;
  const std::string after = history.pending;
  history.error.clear();
  EXPECT_TRUE(history.start(false)) << history.error;
  if (!history.error.empty()) return false;
  const bool was_never_started = before.empty();
  if (!was_never_started) {
    EXPECT_TRUE(history.acknowledged == before || history.acknowledged == after)
        << "neither the old state nor the new";
  }
  // And it goes on as if nothing had been.
  EXPECT_TRUE(history.step());
  const std::string last = history.acknowledged;
  EXPECT_TRUE(history.stop());
  EXPECT_TRUE(history.start(true)) << history.error;
  EXPECT_EQ(history.acknowledged, last);
  return true;
}

TEST(MetadataLogCrash, any_call_that_fails_leaves_the_old_state_or_the_new) {
  const auto [first, last] = test_seeds(1);
  for (uint64_t seed = first; seed <= last; ++seed) {
    for (const Trouble trouble : troubles) {
      uint64_t call = 1;
      for (;; call += few_test_seeds ? 5 : 1) {
        SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed) + " trouble " +
                     std::to_string(static_cast<int>(trouble)) + " at call " + std::to_string(call));
        if (!survives(trouble, seed, call)) break;
        if (::testing::Test::HasFailure()) return;
      }
      EXPECT_GT(call, 150u) << "the history was over too soon to say anything";
    }
  }
}

TEST(MetadataLogCrash, the_histories_reach_everything_that_can_fail) {
  uint64_t snapshots = 0;
  uint64_t segments_gone = 0;
  uint64_t transactions = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    io::FakeDisk disk;
    ASSERT_TRUE(disk.create_directories("/data"));
    History history(disk, seed);
    ASSERT_TRUE(live(history));
    bool first_segment = false;
    for (const auto& path : disk.all_files()) {
      snapshots += path.ends_with(".checkpoint");
      first_segment |= path.ends_with("/00000000000000000000.log");
    }
    segments_gone += !first_segment;
    ASSERT_TRUE(history.start(true));
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(history.step());
    transactions += history.quorum().image()->partition_count > 25;
  }
  EXPECT_GE(snapshots, 3u);
  EXPECT_GT(segments_gone, 0u);
  EXPECT_GT(transactions, 0u);
}

TEST(MetadataLogCrash, an_operation_above_the_size_of_a_batch_is_there_as_a_whole_or_not_at_all) {
  uint64_t cuts = 0;
  for (uint64_t call = 1;; ++call) {
    SCOPED_TRACE("power off at call " + std::to_string(call));
    io::FakeDisk disk;
    ASSERT_TRUE(disk.create_directories("/data"));
    ASSERT_TRUE(disk.sync_directory("/"));
    storage::FilePool files(disk, 16);
    metadata::RecordList records;
    records.add(metadata::testing::topic("wide", metadata::testing::id(1)));
    for (int32_t i = 0; i < 30; ++i)
      records.add(metadata::testing::partition(metadata::testing::id(1), i), 2);
    {
      auto quorum = LocalQuorum::open(disk, files, small_quorum(), TimestampMs{1});
      ASSERT_TRUE(quorum);
      ASSERT_FALSE((*quorum)->fits(records) && records.size_bytes() < small_quorum().log.batch_bytes);
      disk.power_off_at(call);
      if ((*quorum)->append(records, TimestampMs{2}) && (*quorum)->commit(TimestampMs{2}) && !disk.is_off())
        break;
    }
    disk.power_cut(io::Unsynced::partly_kept, call);
    auto quorum = LocalQuorum::open(disk, files, small_quorum(), TimestampMs{3});
    ASSERT_TRUE(quorum) << quorum.error().message;
    const auto* topic = (*quorum)->image()->topic("wide");
    EXPECT_TRUE(topic == nullptr || topic->partition_count() == 30);
    cuts += topic == nullptr;
  }
  EXPECT_GT(cuts, 5u) << "the operation is meant to be several batches";
}

}  // namespace
}  // namespace barnabas::cluster::testing
