// What a start does about metadata files that are damaged, cut or gone: it refuses with the place, or makes
// good without a loss.

#include <map>

#include "cluster/metadata_log_test_support.h"

namespace barnabas::cluster::testing {
namespace {

using Files = std::map<std::string, std::string>;

Files files_of(const io::FakeDisk& disk) {
  Files files;
  for (const auto& path : disk.all_files()) files[path] = *disk.content(path);
  return files;
}

struct Found {
  bool started = false;
  std::string state;
  std::string message;  ///< of the refusal, or what was made good
};

Found open(const Files& files, bool clean) {
  io::FakeDisk disk;
  EXPECT_TRUE(disk.create_directories(metadata_path));
  for (const auto& [path, content] : files) disk.put_file(path, content);
  storage::FilePool pool(disk, 16);
  auto options = small_quorum();
  options.clean = clean;
  const auto quorum = LocalQuorum::open(disk, pool, options, TimestampMs{1'000'000});
  if (!quorum) return {false, {}, quorum.error().message};
  return {true, state_of(*(*quorum)->image()), (*quorum)->healed()};
}

/// A directory with several segments and snapshots, as a clean stop or a crash leaves it.
class Damage : public ::testing::TestWithParam<bool> {
 protected:
  Damage() : clean(GetParam()) {
    EXPECT_TRUE(disk.create_directories("/data"));
    History history(disk, 3);
    history.options.log.retention_bytes = 60'000;
    history.options.log.snapshot_bytes = 7'000;  // several segments
    history.unasked_snapshots = false;
    EXPECT_TRUE(history.start(false));
    for (int i = 0; i < 40; ++i) {
      EXPECT_TRUE(history.step());
      states.push_back(history.acknowledged);
    }
    clean ? static_cast<void>(history.stop()) : history.crash();
    files = files_of(disk);
    std::erase_if(files, [](const auto& file) { return file.first.ends_with(".tmp"); });
    for (const auto& [path, content] : files) {
      if (path.ends_with(".log")) last_log = path;
      if (path.ends_with(".checkpoint")) snapshots.push_back(path);
    }
  }
  const std::string& whole() const { return states.back(); }

  /// With the damage: refused with a place, or the whole state. A crash may have torn the last change.
  void expect_no_loss(const Files& damaged, const std::string& path, bool at_the_end) {
    const Found found = open(damaged, clean);
    if (!found.started) {
      ++refused;
      EXPECT_NE(found.message.find(metadata_path), std::string::npos) << found.message;
    } else if (found.state == whole()) {
      ++whole_again;
    } else {
      EXPECT_TRUE(!clean && path == last_log && at_the_end && !found.message.empty())
          << "less than was acknowledged, and nobody said so: " << found.message;
    }
  }
  /// Where the last batch of the log begins.
  std::size_t last_batch() const {
    protocol::BatchIterator batches(as_byte_view(files.at(last_log)));
    std::size_t at = 0;
    while (batches.next() == protocol::BatchIterator::Step::batch) at = batches.position();
    return at;
  }

  const bool clean;
  io::FakeDisk disk;
  std::vector<std::string> states;
  Files files;
  std::string last_log;
  std::vector<std::string> snapshots;
  int refused = 0;
  int whole_again = 0;
};

INSTANTIATE_TEST_SUITE_P(AfterA, Damage, ::testing::Bool(),
                         [](const auto& after) { return after.param ? "clean_stop" : "crash"; });

TEST_P(Damage, nothing_damaged_is_the_whole_state) {
  const Found found = open(files, clean);
  EXPECT_TRUE(found.started) << found.message;
  EXPECT_EQ(found.state, whole());
  EXPECT_EQ(found.message, "");
  EXPECT_GE(snapshots.size(), 2u);
}

TEST_P(Damage, a_flipped_bit_anywhere_loses_nothing_silently) {
  SeededRandom random(clean ? 1 : 2);
  for (const auto& [path, content] : files) {
    for (int i = 0; i < 15 && !content.empty(); ++i) {
      const auto at = static_cast<std::size_t>(random.below(content.size()));
      const auto bit = random.below(8);
      SCOPED_TRACE(path + ", byte " + std::to_string(at) + ", bit " + std::to_string(bit));
      Files damaged = files;
      damaged[path][at] = static_cast<char>(damaged[path][at] ^ (1 << bit));
      expect_no_loss(damaged, path, at >= last_batch());
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(whole_again, 10);
}

TEST_P(Damage, a_file_that_was_cut_loses_nothing_silently) {
  SeededRandom random(clean ? 3 : 4);
  for (const auto& [path, content] : files) {
    for (int i = 0; i < 12 && !content.empty(); ++i) {
      const auto size = static_cast<std::size_t>(random.below(content.size()));
      // Where a log ends after a crash nobody knows but the log.
      if (!clean && path == last_log && size < last_batch()) continue;
      SCOPED_TRACE(path + ", cut at " + std::to_string(size));
      Files damaged = files;
      damaged[path].resize(size);
      expect_no_loss(damaged, path, true);
    }
  }
}

TEST_P(Damage, a_file_that_is_gone_loses_nothing_silently) {
  for (const auto& [path, content] : files) {
    if (!clean && path == last_log) continue;
    SCOPED_TRACE(path);
    Files damaged = files;
    damaged.erase(path);
    expect_no_loss(damaged, path, true);
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(whole_again, 3);
}

TEST_P(Damage, a_damaged_snapshot_is_set_aside_while_the_log_has_what_was_in_it) {
  Files damaged = files;
  damaged[snapshots.back()].resize(100);
  io::FakeDisk broken;
  for (const auto& [path, content] : damaged) broken.put_file(path, content);
  storage::FilePool pool(broken, 16);
  auto options = small_quorum();
  options.clean = clean;
  {
    auto quorum = LocalQuorum::open(broken, pool, options, TimestampMs{1'000'000});
    ASSERT_TRUE(quorum) << quorum.error().message;
    EXPECT_EQ(state_of(*(*quorum)->image()), whole());
    EXPECT_NE((*quorum)->healed().find(snapshots.back()), std::string::npos) << (*quorum)->healed();
    EXPECT_TRUE((*quorum)->snapshot_due()) << "a new one takes its place";
    EXPECT_TRUE(broken.content(snapshots.back() + ".damaged"));
    EXPECT_FALSE(broken.content(snapshots.back()));
    ASSERT_TRUE((*quorum)->write_snapshot(TimestampMs{1'000'001}));
    EXPECT_FALSE((*quorum)->snapshot_due());
  }
  options.clean = false;
  const auto again = LocalQuorum::open(broken, pool, options, TimestampMs{1'000'002});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->healed(), "");
  EXPECT_EQ(state_of(*(*again)->image()), whole());
}

TEST_P(Damage, every_damaged_snapshot_is_a_refusal_that_names_the_newest) {
  Files damaged = files;
  for (const auto& path : snapshots) damaged[path].resize(100);
  const Found found = open(damaged, clean);
  if (damaged.contains(metadata_path + "/00000000000000000000.log")) {
    EXPECT_EQ(found.state, whole());
  } else {
    EXPECT_FALSE(found.started);
    EXPECT_TRUE(found.message.starts_with(snapshots.back() + ": ")) << found.message;
  }
}

TEST_P(Damage, damage_in_the_middle_is_a_refusal_that_says_what_to_do) {
  Files damaged = files;
  const std::size_t at = last_batch() - 20;
  damaged[last_log][at] = static_cast<char>(~damaged[last_log][at]);
  const Found found = open(damaged, clean);
  ASSERT_FALSE(found.started);
  EXPECT_NE(found.message.find(last_log + ", byte "), std::string::npos) << found.message;
  EXPECT_NE(found.message.find("a whole batch of offset"), std::string::npos) << found.message;
  EXPECT_NE(found.message.find("Restore the file from a copy"), std::string::npos) << found.message;
}

TEST(MetadataLogRetention,
     the_oldest_snapshot_goes_with_the_log_below_the_next_by_size_or_age_and_the_newest_never) {
  io::FakeDisk disk;
  ASSERT_TRUE(disk.create_directories("/data"));
  History history(disk, 5);
  history.options.log.retention_bytes = -1;
  history.options.log.retention_ms = -1;
  ASSERT_TRUE(history.start(false));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(history.step());
  const auto count = [&](std::string_view suffix) {
    return std::ranges::count_if(disk.all_files(), [&](const auto& path) { return path.ends_with(suffix); });
  };
  const auto kept = count(".checkpoint");
  EXPECT_GT(kept, 4) << "no limit keeps all";
  EXPECT_TRUE(disk.content(metadata_path + "/00000000000000000000.log"));

  history.crash();
  history.options.log.retention_ms = 0;
  ASSERT_TRUE(history.start(false));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(history.step());
  EXPECT_EQ(count(".checkpoint"), 1) << "by age";
  EXPECT_FALSE(disk.content(metadata_path + "/00000000000000000000.log"));

  history.crash();
  history.options.log.retention_ms = -1;
  history.options.log.retention_bytes = 90'000;
  ASSERT_TRUE(history.start(false));
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(history.step());
  EXPECT_GT(count(".checkpoint"), 1) << "by size";
  uint64_t bytes = 0;
  for (const auto& path : disk.all_files()) {
    if (path.ends_with(".checkpoint") || path.ends_with(".log")) bytes += disk.content(path)->size();
  }
  EXPECT_LT(bytes, 90'000u + 25'000u) << "beyond it only what came after the last snapshot";
}

TEST(MetadataLogRetention, no_segment_goes_before_the_snapshot_that_replaces_it_is_durable) {
  io::FakeDisk disk;
  ASSERT_TRUE(disk.create_directories("/data"));
  History history(disk, 5);
  history.options.log.retention_bytes = 0;
  ASSERT_TRUE(history.start(false));
  disk.add_fault({.call = io::DiskCall::sync_data, .path_part = ".checkpoint", .for_good = true});
  bool going_on = true;
  for (int i = 0; i < 60 && going_on; ++i) going_on = history.step();
  EXPECT_FALSE(going_on) << "a snapshot that cannot be synced is the end";
  EXPECT_TRUE(disk.content(metadata_path + "/00000000000000000000.log"));
}

}  // namespace
}  // namespace barnabas::cluster::testing
