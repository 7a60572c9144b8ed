#include "io/disk.h"

#include <gtest/gtest.h>

#include "io/fake_disk.h"
#include "io/system_error.h"

namespace barnabas::io {
namespace {

TEST(ReadFile, a_file_above_the_limit_is_refused_before_it_is_read) {
  FakeDisk disk;
  disk.put_file("/a", std::string(101, 'x'));
  EXPECT_EQ(read_file(disk, "/a", 100).error().kind, ErrorKind::too_large);
  EXPECT_EQ(disk.calls(DiskCall::read), 0U);
  EXPECT_EQ(read_file(disk, "/a", 101).value().size(), 101U);
  EXPECT_EQ(read_file(disk, "/b", 100).error().kind, ErrorKind::not_found);
}

TEST(ReplaceFile, old_or_new_survives_whatever_call_fails_and_whenever_the_power_is_cut) {
  for (const bool power : {false, true}) {
    bool reached_end = false;
    for (uint64_t n = 1; !reached_end; ++n) {
      for (uint64_t seed = 0; seed < 20; ++seed) {
        FakeDisk disk;
        disk.put_file("/d/a", "old");
        if (power) {
          disk.power_off_at(n);
        } else {
          disk.fail_call(n);
        }
        const auto replaced = replace_file(disk, "/d/a", std::string(2000, 'n'));
        if (seed == 0) reached_end = replaced.has_value();
        disk.power_cut(Unsynced::partly_kept, seed);
        const std::string content = disk.content("/d/a").value();
        if (replaced) {
          EXPECT_EQ(content, std::string(2000, 'n'));
        } else {
          EXPECT_TRUE(content == "old" || content == std::string(2000, 'n'))
              << "call " << n << " seed " << seed;
        }
      }
      ASSERT_LT(n, 100U);
    }
  }
}

TEST(ReplaceFile, what_an_earlier_crash_left_beside_it_does_no_harm) {
  FakeDisk disk;
  disk.put_file("/d/a.tmp", std::string(5000, 'x'));
  ASSERT_TRUE(replace_file(disk, "/d/a", "new"));
  EXPECT_EQ(disk.content("/d/a"), "new");
  EXPECT_FALSE(disk.content("/d/a.tmp"));
}

TEST(ParentDirectory, of_every_kind_of_path) {
  EXPECT_EQ(parent_directory("/a/b"), "/a");
  EXPECT_EQ(parent_directory("/a"), "/");
  EXPECT_EQ(parent_directory("a"), ".");
  EXPECT_EQ(parent_directory("a/b/c"), "a/b");
}

}  // namespace
}  // namespace barnabas::io
