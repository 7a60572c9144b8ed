#include "io/posix_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/assert.h"
#include "io/system_error.h"

namespace barnabas::io {
namespace {

constexpr mode_t file_permissions = 0644;
// One pwritev takes at most IOV_MAX pieces; fewer keep the copy of the list on the stack small.
constexpr std::size_t pieces_per_call = 64;

std::unexpected<Error> failed(std::string_view call, const std::string& path) {
  return std::unexpected<Error>(system_error(call, path, errno));
}

std::unexpected<Error> failed_at(std::string_view call, const std::string& path, uint64_t position) {
  Error error = system_error(call, path, errno);
  error.message += " (at byte " + std::to_string(position) + ")";
  return std::unexpected<Error>(std::move(error));
}

template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

class PosixFile final : public File {
 public:
  PosixFile(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  Result<std::size_t> read_at(MutableByteView into, uint64_t position) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const auto at = static_cast<off_t>(position + done);
      const ssize_t count =
          retried([&] { return ::pread(descriptor(), into.data() + done, into.size() - done, at); });
      if (count < 0) return failed_at("read", path_, position + done);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }

  Result<void> write_at(std::span<const ByteView> pieces, uint64_t position) override {
    std::size_t skip = 0;  // bytes of the first piece that are written already
    while (!pieces.empty()) {
      std::array<iovec, pieces_per_call> list;
      std::size_t count = 0;
      for (; count < std::min(pieces.size(), pieces_per_call); ++count) {
        const ByteView piece = count == 0 ? pieces[0].subspan(skip) : pieces[count];
        list[count] = {const_cast<std::byte*>(piece.data()), piece.size()};
      }
      const ssize_t written = retried([&] {
        return ::pwritev(descriptor(), list.data(), static_cast<int>(count), static_cast<off_t>(position));
      });
      if (written < 0) return failed_at("write", path_, position);
      position += static_cast<uint64_t>(written);
      auto left = static_cast<std::size_t>(written) + skip;
      while (!pieces.empty() && left >= pieces[0].size()) {
        left -= pieces[0].size();
        pieces = pieces.subspan(1);
      }
      skip = left;
    }
    return {};
  }

  Result<void> sync_data() override {
    if (retried([&] { return ::fdatasync(descriptor()); }) != 0) return failed("fdatasync", path_);
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    if (retried([&] { return ::ftruncate(descriptor(), static_cast<off_t>(size)); }) != 0)
      return failed_at("truncate", path_, size);
    return {};
  }

  Result<uint64_t> size() const override {
    struct stat status;
    if (::fstat(descriptor(), &status) != 0) return failed("stat", path_);
    return static_cast<uint64_t>(status.st_size);
  }

  int descriptor() const override { return descriptor_.get(); }
  const std::string& path() const override { return path_; }

 private:
  const Descriptor descriptor_;
  const std::string path_;
};

/// A descriptor for each file system that the process has a lock in. Linux (since 5.8) tells a descriptor of
/// the errors that write-back met since it was opened or last asked; one that is kept from before the first
/// write misses none, also those of files that were closed meanwhile.
class FileSystems {
 public:
  static FileSystems& instance() {
    static FileSystems systems;
    return systems;
  }

  Result<std::shared_ptr<Descriptor>> descriptor(dev_t device, const std::string& path) {
    const std::lock_guard guard(mutex_);
    if (const auto known = kept_.find(device); known != kept_.end()) return known->second;
    auto opened =
        std::make_shared<Descriptor>(retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
    if (!opened->is_open()) return failed("open", path);
    kept_.emplace(device, opened);
    return opened;
  }
  /// When nothing of the process lies there any more, the file system can be unmounted.
  void let_go(dev_t device) {
    const std::lock_guard guard(mutex_);
    kept_.erase(device);
  }

 private:
  std::mutex mutex_;
  std::map<dev_t, std::shared_ptr<Descriptor>> kept_;
};

/// Files that this process holds locked, by device and inode.
struct LockTable {
  using Key = std::pair<dev_t, ino_t>;
  std::mutex mutex;
  std::set<Key> held;

  static LockTable& instance() {
    static LockTable table;
    return table;
  }
};

class PosixLock final : public FileLock {
 public:
  PosixLock(Descriptor descriptor, LockTable::Key key) : descriptor_(std::move(descriptor)), key_(key) {}
  ~PosixLock() override {
    // The entry goes first and the descriptor, and so the lock, right after it, both under the mutex.
    const std::lock_guard guard(LockTable::instance().mutex);
    auto& held = LockTable::instance().held;
    held.erase(key_);
    const Descriptor closed(std::move(descriptor_));
    const bool last =
        std::ranges::none_of(held, [&](const auto& other) { return other.first == key_.first; });
    if (last) FileSystems::instance().let_go(key_.first);
  }

 private:
  Descriptor descriptor_;
  const LockTable::Key key_;
};

int open_flags(OpenMode mode) {
  switch (mode) {
    case OpenMode::read:
      return O_RDONLY | O_CLOEXEC;
    case OpenMode::read_write:
      return O_RDWR | O_CLOEXEC;
    case OpenMode::create:
      return O_RDWR | O_CREAT | O_CLOEXEC;
    case OpenMode::create_new:
      return O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  }
  BARNABAS_ASSERT(false);
}

Descriptor open_descriptor(const std::string& path, int flags) {
  return Descriptor(retried([&] { return ::open(path.c_str(), flags, file_permissions); }));
}

Result<bool> is_directory(DIR* stream, const dirent& entry, const std::string& directory) {
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return entry.d_type == DT_DIR;
  struct stat status;
  if (::fstatat(::dirfd(stream), entry.d_name, &status, 0) != 0) {
    if (errno == ENOENT) return false;  // a dangling link
    return failed("stat", directory + "/" + entry.d_name);
  }
  return S_ISDIR(status.st_mode);
}

}  // namespace

Result<std::shared_ptr<File>> PosixDisk::open(const std::string& path, OpenMode mode) {
  Descriptor descriptor = open_descriptor(path, open_flags(mode));
  if (!descriptor.is_open()) return failed("open", path);
  return std::make_shared<PosixFile>(std::move(descriptor), path);
}

Result<void> PosixDisk::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return failed("rename to " + to + " of", from);
  return {};
}

Result<void> PosixDisk::remove(const std::string& path) {
  if (::remove(path.c_str()) != 0) return failed("remove", path);
  return {};
}

Result<void> PosixDisk::remove_tree(const std::string& path) {
  std::error_code code;
  std::filesystem::remove_all(path, code);
  if (code) return std::unexpected<Error>(system_error("remove", path, code.value()));
  return {};
}

Result<void> PosixDisk::create_directories(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return std::unexpected<Error>(system_error("make directory", path, code.value()));
  return {};
}

Result<bool> PosixDisk::exists(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return failed("stat", path);
}

Result<uint64_t> PosixDisk::file_size(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return failed("stat", path);
  return static_cast<uint64_t>(status.st_size);
}

Result<std::vector<DirectoryEntry>> PosixDisk::list(const std::string& directory) {
  const auto close_stream = [](DIR* stream) { ::closedir(stream); };
  // opendir sets close-on-exec by itself.
  const std::unique_ptr<DIR, decltype(close_stream)> stream(::opendir(directory.c_str()), close_stream);
  if (!stream) return failed("open directory", directory);
  std::vector<DirectoryEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    BARNABAS_ASSIGN(const bool directory_entry, is_directory(stream.get(), *entry, directory));
    entries.push_back({std::string(name), directory_entry});
  }
  if (errno != 0) return failed("list directory", directory);
  return entries;
}

Result<void> PosixDisk::sync_directory(const std::string& directory) {
  const Descriptor descriptor = open_descriptor(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!descriptor.is_open()) return failed("open directory", directory);
  if (retried([&] { return ::fsync(descriptor.get()); }) != 0) return failed("fsync directory", directory);
  return {};
}

Result<void> PosixDisk::sync_file_system(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return failed("stat", path);
  BARNABAS_ASSIGN(const std::shared_ptr<Descriptor> descriptor,
                  FileSystems::instance().descriptor(status.st_dev, path));
  if (retried([&] { return ::syncfs(descriptor->get()); }) != 0) return failed("syncfs", path);
  return {};
}

Result<VolumeSize> PosixDisk::volume(const std::string& path) {
  struct statvfs status;
  if (retried([&] { return ::statvfs(path.c_str(), &status); }) != 0) return failed("statvfs", path);
  return VolumeSize{.total_bytes = uint64_t{status.f_blocks} * status.f_frsize,
                    .usable_bytes = uint64_t{status.f_bavail} * status.f_frsize};
}

Result<std::unique_ptr<FileLock>> PosixDisk::lock(const std::string& path) {
  LockTable& table = LockTable::instance();
  const std::lock_guard guard(table.mutex);
  const auto refused = [&](std::string_view by) {
    return fail(ErrorKind::already_exists, "lock " + path + ": held by " + std::string(by));
  };
  // Asked before the file is opened: closing any descriptor of a file gives up all fcntl locks that the
  // process has on it.
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && table.held.contains({status.st_dev, status.st_ino}))
    return refused("this process");
  Descriptor descriptor = open_descriptor(path, O_RDWR | O_CREAT | O_CLOEXEC);
  if (!descriptor.is_open()) return failed("open", path);
  if (::fstat(descriptor.get(), &status) != 0) return failed("stat", path);
  struct flock whole_file = {};
  whole_file.l_type = F_WRLCK;
  whole_file.l_whence = SEEK_SET;
  if (retried([&] { return ::fcntl(descriptor.get(), F_SETLK, &whole_file); }) == -1) {
    if (errno == EACCES || errno == EAGAIN) return refused("another process");
    return failed("lock", path);
  }
  BARNABAS_TRY(FileSystems::instance().descriptor(status.st_dev, parent_directory(path)));
  table.held.insert({status.st_dev, status.st_ino});
  return std::make_unique<PosixLock>(std::move(descriptor), LockTable::Key{status.st_dev, status.st_ino});
}

}  // namespace barnabas::io
