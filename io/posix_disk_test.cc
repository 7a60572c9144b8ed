#include "io/posix_disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

namespace barnabas::io {
namespace {

class PosixDiskTest : public testing::Test {
 protected:
  PosixDiskTest() {
    std::string name = (std::filesystem::temp_directory_path() / "posix-disk-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~PosixDiskTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  static ErrorKind kind(const auto& result) { return result ? ErrorKind::closed : result.error().kind; }

  PosixDisk disk_;
  std::string directory_;
};

TEST_F(PosixDiskTest, pieces_are_written_one_after_the_other_and_read_back) {
  const auto file = disk_.open(path("a"), OpenMode::create).value();
  std::string all;
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i)
    texts.push_back(std::string(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26)));
  std::vector<ByteView> pieces;
  for (const std::string& text : texts) {
    pieces.push_back(as_byte_view(text));
    all += text;
  }
  ASSERT_TRUE(file->write_at(pieces, 3));
  EXPECT_EQ(file->size().value(), 3 + all.size());
  std::string back(all.size() + 10, 'x');
  EXPECT_EQ(file->read_at(std::as_writable_bytes(std::span(back.data(), back.size())), 3).value(),
            all.size());
  EXPECT_EQ(back.substr(0, all.size()), all);
  ASSERT_TRUE(file->sync_data());
}

TEST_F(PosixDiskTest, open_modes_say_what_may_exist) {
  EXPECT_EQ(kind(disk_.open(path("a"), OpenMode::read)), ErrorKind::not_found);
  EXPECT_EQ(kind(disk_.open(path("a"), OpenMode::read_write)), ErrorKind::not_found);
  EXPECT_TRUE(disk_.open(path("a"), OpenMode::create_new));
  EXPECT_EQ(kind(disk_.open(path("a"), OpenMode::create_new)), ErrorKind::already_exists);
  EXPECT_TRUE(disk_.open(path("a"), OpenMode::create));
  EXPECT_TRUE(disk_.open(path("a"), OpenMode::read));
}

TEST_F(PosixDiskTest, descriptors_are_closed_in_child_programs) {
  const auto file = disk_.open(path("a"), OpenMode::create).value();
  EXPECT_TRUE(::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC);
}

TEST_F(PosixDiskTest, errors_name_call_file_and_place) {
  const auto file = disk_.open(path("a"), OpenMode::create).value();
  const auto reader = disk_.open(path("a"), OpenMode::read).value();
  const auto written = reader->write_at(as_byte_view("x"), 42);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::io);
  EXPECT_EQ(written.error().system_error, EBADF);
  EXPECT_NE(written.error().message.find("write " + path("a")), std::string::npos) << written.error().message;
  EXPECT_NE(written.error().message.find("42"), std::string::npos) << written.error().message;
}

TEST_F(PosixDiskTest, a_full_device_is_no_space) {
  const auto full = disk_.open("/dev/full", OpenMode::read_write);
  if (!full) GTEST_SKIP() << full.error().message;
  const auto written = full.value()->write_at(as_byte_view("x"), 0);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::no_space);
  EXPECT_EQ(written.error().system_error, ENOSPC);
}

TEST_F(PosixDiskTest, a_write_cut_short_is_carried_on_to_its_error) {
  // The limit makes the kernel write a part first and only then refuse.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string bytes(3000, 'x');
    const auto file = disk_.open(path("a"), OpenMode::create).value();
    const auto written = file->write_at(as_byte_view(bytes), 0);
    ::_exit(!written && written.error().system_error == EFBIG &&
                    written.error().message.find("1000") != std::string::npos
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(disk_.file_size(path("a")).value(), 1000U);
}

TEST_F(PosixDiskTest, names_can_be_made_listed_renamed_and_removed) {
  ASSERT_TRUE(disk_.create_directories(path("x/y/z")));
  ASSERT_TRUE(disk_.create_directories(path("x/y/z")));
  ASSERT_TRUE(disk_.open(path("x/file"), OpenMode::create));
  std::map<std::string, bool> names;
  const auto listed = disk_.list(path("x")).value();
  for (const auto& entry : listed) names[entry.name] = entry.is_directory;
  EXPECT_EQ(names, (std::map<std::string, bool>{{"file", false}, {"y", true}}));
  ASSERT_TRUE(disk_.rename(path("x/file"), path("x/y/file")));
  EXPECT_FALSE(disk_.exists(path("x/file")).value());
  EXPECT_TRUE(disk_.exists(path("x/y/file")).value());
  EXPECT_FALSE(disk_.exists(path("x/y/file/below")).value());
  EXPECT_FALSE(disk_.remove(path("x/y")));
  ASSERT_TRUE(disk_.remove(path("x/y/file")));
  EXPECT_EQ(kind(disk_.remove(path("x/y/file"))), ErrorKind::not_found);
  ASSERT_TRUE(disk_.sync_directory(path("x/y")));
  ASSERT_TRUE(disk_.remove_tree(path("x")));
  ASSERT_TRUE(disk_.remove_tree(path("x")));
  EXPECT_EQ(kind(disk_.list(path("x"))), ErrorKind::not_found);
  EXPECT_EQ(kind(disk_.sync_directory(path("x"))), ErrorKind::not_found);
  EXPECT_EQ(kind(disk_.rename(path("x"), path("y"))), ErrorKind::not_found);
}

TEST_F(PosixDiskTest, truncation_cuts_and_grows) {
  const auto file = disk_.open(path("a"), OpenMode::create).value();
  ASSERT_TRUE(file->write_at(as_byte_view("abcdef"), 0));
  ASSERT_TRUE(file->truncate(2));
  ASSERT_TRUE(file->truncate(4));
  EXPECT_EQ(read_file(disk_, path("a"), 100).value(), std::string("ab\0\0", 4));
}

TEST_F(PosixDiskTest, a_file_system_is_synced_with_and_without_a_lock_in_it) {
  const auto file = disk_.open(path("a"), OpenMode::create).value();
  ASSERT_TRUE(file->write_at(as_byte_view("x"), 0));
  EXPECT_TRUE(disk_.sync_file_system(path("")));
  {
    const auto lock = disk_.lock(path(".lock"));
    ASSERT_TRUE(lock);
    EXPECT_TRUE(disk_.sync_file_system(path("")));
  }
  EXPECT_TRUE(disk_.sync_file_system(path("a")));
  const auto nowhere = disk_.sync_file_system(path("nowhere"));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::not_found);
}

TEST_F(PosixDiskTest, a_volume_has_a_size) {
  const VolumeSize size = disk_.volume(directory_).value();
  EXPECT_GT(size.total_bytes, 0U);
  EXPECT_LE(size.usable_bytes, size.total_bytes);
}

TEST_F(PosixDiskTest, a_lock_excludes_the_same_process) {
  auto first = disk_.lock(path(".lock"));
  ASSERT_TRUE(first);
  PosixDisk other;
  EXPECT_EQ(kind(other.lock(path(".lock"))), ErrorKind::already_exists);
  EXPECT_EQ(kind(other.lock(directory_ + "/./.lock")), ErrorKind::already_exists);
  first->reset();
  EXPECT_TRUE(other.lock(path(".lock")));
}

// What a JVM's FileChannel.tryLock does: a lock by fcntl on the whole file.
int try_lock_in_child(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int descriptor = ::open(path.c_str(), O_RDWR);
    struct flock all = {};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    ::_exit(::fcntl(descriptor, F_SETLK, &all) == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(PosixDiskTest, a_lock_excludes_other_processes_even_after_a_refused_attempt) {
  auto lock = disk_.lock(path(".lock"));
  ASSERT_TRUE(lock);
  EXPECT_FALSE(disk_.lock(path(".lock")));  // must not give up the lock by closing a descriptor
  EXPECT_EQ(try_lock_in_child(path(".lock")), 1);
  lock->reset();
  EXPECT_EQ(try_lock_in_child(path(".lock")), 0);
}

TEST_F(PosixDiskTest, interrupted_reads_are_repeated) {
  // A pipe has no positions; signals are best seen with a file read while an alarm goes off all the time.
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  struct sigaction before;
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{{0, 200}, {0, 200}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  const auto file = disk_.open(path("a"), OpenMode::create).value();
  const std::string bytes(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(file->write_at(as_byte_view(bytes), static_cast<uint64_t>(i) << 20));
    ASSERT_TRUE(file->sync_data());
  }
  EXPECT_EQ(read_file(disk_, path("a"), 1 << 30).value().size(), 20U << 20);
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

}  // namespace
}  // namespace barnabas::io
