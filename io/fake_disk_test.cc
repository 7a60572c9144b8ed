#include "io/fake_disk.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace barnabas::io {
namespace {

class FakeDiskTest : public testing::Test {
 protected:
  FakeDiskTest() {
    EXPECT_TRUE(disk_.create_directories("/d"));
    EXPECT_TRUE(disk_.sync_directory("/"));
  }

  std::shared_ptr<File> make(const std::string& path) { return disk_.open(path, OpenMode::create).value(); }

  FakeDisk disk_;
};

TEST_F(FakeDiskTest, unsynced_bytes_are_gone_after_a_power_cut) {
  const auto file = make("/d/a");
  ASSERT_TRUE(disk_.sync_directory("/d"));
  ASSERT_TRUE(file->write_at(as_byte_view("synced"), 0));
  ASSERT_TRUE(file->sync_data());
  ASSERT_TRUE(file->write_at(as_byte_view("SYNCED and more"), 0));
  EXPECT_EQ(disk_.content("/d/a"), "SYNCED and more");
  disk_.power_cut();
  EXPECT_EQ(disk_.content("/d/a"), "synced");
}

TEST_F(FakeDiskTest, unsynced_names_are_gone_after_a_power_cut) {
  ASSERT_TRUE(make("/d/a")->sync_data());
  ASSERT_TRUE(disk_.create_directories("/d/below"));
  disk_.power_cut();
  EXPECT_EQ(disk_.all_files(), std::vector<std::string>{});
  EXPECT_FALSE(disk_.exists("/d/below").value());
  EXPECT_TRUE(disk_.exists("/d").value());
}

TEST_F(FakeDiskTest, an_unsynced_rename_or_removal_is_undone_by_a_power_cut) {
  disk_.put_file("/d/a", "a");
  disk_.put_file("/d/b", "b");
  ASSERT_TRUE(disk_.rename("/d/a", "/d/c"));
  ASSERT_TRUE(disk_.remove("/d/b"));
  disk_.power_cut();
  EXPECT_EQ(disk_.all_files(), (std::vector<std::string>{"/d/a", "/d/b"}));
  ASSERT_TRUE(disk_.rename("/d/a", "/d/c"));
  ASSERT_TRUE(disk_.remove("/d/b"));
  ASSERT_TRUE(disk_.sync_directory("/d"));
  disk_.power_cut();
  EXPECT_EQ(disk_.all_files(), std::vector<std::string>{"/d/c"});
}

TEST_F(FakeDiskTest, a_rename_over_a_file_is_one_change) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeDisk disk;
    disk.put_file("/d/a", "old");
    disk.put_file("/d/b", "new");
    ASSERT_TRUE(disk.rename("/d/b", "/d/a"));
    disk.power_cut(Unsynced::partly_kept, seed);
    seen.insert(disk.content("/d/a").value() + (disk.content("/d/b") ? "+b" : ""));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"old+b", "new"}));
}

TEST_F(FakeDiskTest, a_torn_write_keeps_whole_sectors_of_it) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    FakeDisk disk;
    disk.put_file("/d/a", std::string(1536, '.'));
    ASSERT_TRUE(
        disk.open("/d/a", OpenMode::read_write).value()->write_at(as_byte_view(std::string(1536, 'n')), 0));
    disk.power_cut(Unsynced::partly_kept, seed);
    const std::string content = disk.content("/d/a").value();
    ASSERT_EQ(content.size(), 1536U);
    std::string pattern;
    for (std::size_t sector = 0; sector < 3; ++sector) {
      pattern += content[sector * 512];
      EXPECT_EQ(content.substr(sector * 512, 512), std::string(512, content[sector * 512]));
    }
    seen.insert(pattern);
  }
  EXPECT_EQ(seen.size(), 8U);
}

TEST_F(FakeDiskTest, a_grown_file_may_have_any_size_and_holes_after_a_power_cut) {
  std::set<std::size_t> sizes;
  bool had_hole = false;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    FakeDisk disk;
    disk.put_file("/d/a", std::string(100, 'o'));
    ASSERT_TRUE(
        disk.open("/d/a", OpenMode::read_write).value()->write_at(as_byte_view(std::string(2000, 'n')), 100));
    disk.power_cut(Unsynced::partly_kept, seed);
    const std::string content = disk.content("/d/a").value();
    ASSERT_GE(content.size(), 100U);
    ASSERT_LE(content.size(), 2100U);
    EXPECT_EQ(content.substr(0, 100), std::string(100, 'o'));
    sizes.insert(content.size());
    had_hole |= content.find('\0') != std::string::npos;
  }
  EXPECT_TRUE(sizes.contains(100) && sizes.contains(2100) && sizes.size() > 10);
  EXPECT_TRUE(had_hole);
}

TEST_F(FakeDiskTest, an_unsynced_truncation_may_come_undone) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    FakeDisk disk;
    disk.put_file("/d/a", "abcdef");
    const auto file = disk.open("/d/a", OpenMode::read_write).value();
    ASSERT_TRUE(file->truncate(2));
    disk.power_cut(Unsynced::partly_kept, seed);
    seen.insert(disk.content("/d/a").value());
  }
  // The kernel may have zeroed the rest of the sector before it wrote the new size.
  EXPECT_EQ(seen, (std::set<std::string>{"ab", "abcdef", std::string("ab\0\0\0\0", 6)}));
}

TEST_F(FakeDiskTest, what_was_cut_off_reads_as_zeros_when_the_file_grows_again) {
  const auto file = make("/d/a");
  ASSERT_TRUE(disk_.sync_directory("/d"));
  ASSERT_TRUE(file->write_at(as_byte_view(std::string(9000, 'x')), 0));
  ASSERT_TRUE(file->sync_data());
  ASSERT_TRUE(file->truncate(3));
  ASSERT_TRUE(file->truncate(9000));
  const std::string expected = "xxx" + std::string(8997, '\0');
  EXPECT_EQ(disk_.content("/d/a"), expected);
  ASSERT_TRUE(file->sync_data());
  disk_.power_cut();
  EXPECT_EQ(disk_.content("/d/a"), expected);
}

TEST_F(FakeDiskTest, the_same_seed_gives_the_same_outcome) {
  const auto run = [](uint64_t seed) {
    FakeDisk disk;
    disk.put_file("/d/a", std::string(5000, 'o'));
    for (int i = 0; i < 5; ++i) {
      const std::string name = "/d/f" + std::to_string(i);
      EXPECT_TRUE(
          disk.open(name, OpenMode::create).value()->write_at(as_byte_view(std::string(3000, 'n')), 0));
    }
    disk.power_cut(Unsynced::partly_kept, seed);
    std::string all;
    for (const std::string& path : disk.all_files()) all += path + disk.content(path).value();
    return all;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST_F(FakeDiskTest, a_failed_sync_saves_nothing_and_neither_does_the_next_one) {
  const auto file = make("/d/a");
  ASSERT_TRUE(disk_.sync_directory("/d"));
  ASSERT_TRUE(file->write_at(as_byte_view("lost"), 0));
  disk_.add_fault({.call = DiskCall::sync_data});
  const auto failed = file->sync_data();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::io);
  EXPECT_EQ(failed.error().system_error, EIO);
  ASSERT_TRUE(file->sync_data());
  disk_.power_cut();
  EXPECT_EQ(disk_.content("/d/a"), std::string(4, '\0'));
}

TEST_F(FakeDiskTest, a_synced_file_system_keeps_everything_below_and_nothing_of_another_one) {
  ASSERT_TRUE(disk_.create_directories("/d/new"));
  ASSERT_TRUE(disk_.create_directories("/e"));
  ASSERT_TRUE(make("/d/new/a")->write_at(as_byte_view("a"), 0));
  ASSERT_TRUE(make("/e/b")->write_at(as_byte_view("b"), 0));
  ASSERT_TRUE(disk_.sync_file_system("/d/new"));
  disk_.power_cut();
  EXPECT_EQ(disk_.content("/d/new/a"), "a");
  EXPECT_EQ(disk_.content("/e/b"), std::nullopt);
  EXPECT_FALSE(disk_.sync_file_system("/nowhere"));
}

TEST_F(FakeDiskTest, a_failed_sync_of_a_file_system_saves_nothing_and_neither_does_any_later_sync) {
  const auto file = make("/d/a");
  ASSERT_TRUE(disk_.sync_directory("/d"));
  ASSERT_TRUE(file->write_at(as_byte_view("x"), 0));
  disk_.add_fault({.call = DiskCall::sync_file_system});
  const auto synced = disk_.sync_file_system("/d");
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().kind, ErrorKind::io);
  EXPECT_TRUE(disk_.sync_file_system("/d"));
  EXPECT_TRUE(file->sync_data());
  disk_.power_cut();
  EXPECT_NE(disk_.content("/d/a"), "x");
}

TEST_F(FakeDiskTest, faults_match_by_call_path_and_count) {
  disk_.add_fault({.call = DiskCall::open, .path_part = "/d/x", .nth = 2, .system_error = EACCES});
  EXPECT_TRUE(disk_.open("/d/x1", OpenMode::create));
  EXPECT_TRUE(disk_.open("/d/y", OpenMode::create));
  EXPECT_TRUE(disk_.exists("/d/x1"));
  const auto failed = disk_.open("/d/x2", OpenMode::create);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().system_error, EACCES);
  EXPECT_TRUE(disk_.open("/d/x2", OpenMode::create));
  disk_.add_fault({.path_part = "/d", .nth = 1, .system_error = EIO, .for_good = true});
  EXPECT_FALSE(disk_.list("/d"));
  EXPECT_FALSE(disk_.list("/d"));
  EXPECT_TRUE(disk_.list("/"));
  disk_.clear_faults();
  EXPECT_TRUE(disk_.list("/d"));
}

TEST_F(FakeDiskTest, a_full_disk_stores_what_fits_and_says_so) {
  disk_.set_capacity(1000);
  const auto file = make("/d/a");
  ASSERT_TRUE(file->write_at(as_byte_view(std::string(600, 'a')), 0));
  const auto failed = file->write_at(as_byte_view(std::string(600, 'b')), 600);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::no_space);
  EXPECT_EQ(file->size().value(), 1000U);
  EXPECT_EQ(disk_.volume("/d").value().usable_bytes, 0U);
  ASSERT_TRUE(file->write_at(as_byte_view(std::string(600, 'c')), 0));
  ASSERT_TRUE(file->truncate(100));
  ASSERT_TRUE(file->write_at(as_byte_view(std::string(600, 'd')), 100));
}

TEST_F(FakeDiskTest, a_read_only_directory_can_be_read_and_not_changed) {
  disk_.put_file("/d/a", "text");
  const auto file = disk_.open("/d/a", OpenMode::read_write).value();
  disk_.set_read_only("/d", true);
  EXPECT_EQ(file->write_at(as_byte_view("x"), 0).error().system_error, EROFS);
  EXPECT_EQ(disk_.open("/d/b", OpenMode::create).error().system_error, EROFS);
  EXPECT_EQ(disk_.rename("/d/a", "/d/b").error().system_error, EROFS);
  EXPECT_EQ(disk_.remove("/d/a").error().system_error, EROFS);
  EXPECT_EQ(read_file(disk_, "/d/a", 100).value(), "text");
  EXPECT_TRUE(disk_.create_directories("/elsewhere"));
  disk_.set_read_only("/d", false);
  EXPECT_TRUE(file->write_at(as_byte_view("x"), 0));
}

TEST_F(FakeDiskTest, nothing_works_while_the_power_is_off) {
  const auto file = make("/d/a");
  ASSERT_TRUE(disk_.sync_directory("/d"));
  disk_.power_off_at(2);
  EXPECT_TRUE(file->write_at(as_byte_view("x"), 0));
  EXPECT_FALSE(file->sync_data());
  EXPECT_TRUE(disk_.is_off());
  EXPECT_FALSE(disk_.exists("/d"));
  disk_.power_cut();
  EXPECT_EQ(disk_.content("/d/a"), "");
  EXPECT_TRUE(disk_.exists("/d").value());
}

TEST_F(FakeDiskTest, files_and_locks_of_the_time_before_a_power_cut_have_no_effect) {
  disk_.put_file("/d/a", "text");
  const auto file = disk_.open("/d/a", OpenMode::read_write).value();
  auto old_lock = disk_.lock("/d/.lock").value();
  disk_.power_cut();
  EXPECT_FALSE(file->write_at(as_byte_view("x"), 0));
  EXPECT_FALSE(file->sync_data());
  EXPECT_FALSE(file->truncate(0));
  EXPECT_EQ(disk_.content("/d/a"), "text");
  const auto new_lock = disk_.lock("/d/.lock");
  ASSERT_TRUE(new_lock);
  old_lock.reset();
  EXPECT_EQ(disk_.lock("/d/.lock").error().kind, ErrorKind::already_exists);
}

TEST_F(FakeDiskTest, an_open_file_outlives_its_name) {
  const auto file = make("/d/a");
  ASSERT_TRUE(file->write_at(as_byte_view("text"), 0));
  ASSERT_TRUE(disk_.rename("/d", "/e"));
  ASSERT_TRUE(file->write_at(as_byte_view("T"), 0));
  EXPECT_EQ(disk_.content("/e/a"), "Text");
  ASSERT_TRUE(disk_.remove_tree("/e"));
  std::string back(4, ' ');
  EXPECT_EQ(file->read_at(std::as_writable_bytes(std::span(back.data(), back.size())), 0).value(), 4U);
  EXPECT_EQ(back, "Text");
}

TEST_F(FakeDiskTest, large_sparse_files_are_cheap) {
  const auto file = make("/d/a");
  ASSERT_TRUE(file->truncate(uint64_t{1} << 40));
  ASSERT_TRUE(file->write_at(as_byte_view("end"), (uint64_t{1} << 40) - 3));
  ASSERT_TRUE(file->sync_data());
  EXPECT_EQ(disk_.file_size("/d/a").value(), uint64_t{1} << 40);
}

TEST_F(FakeDiskTest, calls_are_counted_by_kind) {
  disk_.reset_counters();
  const auto file = make("/d/a");
  ASSERT_TRUE(file->write_at(as_byte_view("x"), 0));
  ASSERT_TRUE(file->write_at(as_byte_view("x"), 0));
  EXPECT_EQ(disk_.calls(DiskCall::open), 1U);
  EXPECT_EQ(disk_.calls(DiskCall::write), 2U);
  EXPECT_EQ(disk_.calls(), 3U);
}

}  // namespace
}  // namespace barnabas::io
