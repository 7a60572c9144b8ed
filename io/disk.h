#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace barnabas::io {

/// An open file. Safe to use from several threads at once as pread and pwrite are. Closed by the last owner.
/// Errors: ErrorKind::no_space for a full disk or quota, ErrorKind::io with errno for all else; the message
/// names the file, the call and the position.
class File {
 public:
  virtual ~File() = default;

  /// Reads into all of `into` unless the file ends before; returns how many bytes were read.
  virtual Result<std::size_t> read_at(MutableByteView into, uint64_t position) = 0;

  /// Writes all pieces one after the other from `position` on (pwritev). After an error any part of them may
  /// be there.
  virtual Result<void> write_at(std::span<const ByteView> pieces, uint64_t position) = 0;
  Result<void> write_at(ByteView bytes, uint64_t position) {
    return write_at(std::span(&bytes, 1), position);
  }

  /// fdatasync: what was written before the call survives a power cut once it returns without error. After an
  /// error nothing may be assumed of what was written since the last success; never call it again hoping for
  /// better.
  virtual Result<void> sync_data() = 0;

  virtual Result<void> truncate(uint64_t size) = 0;
  virtual Result<uint64_t> size() const = 0;

  /// The descriptor for sendfile, owned by this object; -1 for files that are not the operating system's.
  virtual int descriptor() const = 0;
  virtual const std::string& path() const = 0;
};

/// Something of a file, for sending without copying. Keeps the file open.
struct FileSlice {
  std::shared_ptr<File> file;
  uint64_t position = 0;
  uint64_t length = 0;
};

enum class OpenMode {
  read,        ///< the file must exist
  read_write,  ///< the file must exist
  create,      ///< read_write; made when it is not there
  create_new,  ///< read_write; ErrorKind::already_exists when it is there
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
};

struct VolumeSize {
  uint64_t total_bytes = 0;
  uint64_t usable_bytes = 0;
};

/// Held until destruction; a second process (also a JVM) that locks the same file is refused meanwhile.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// The one seam between the storage room and the operating system. Every call may block on a device and may
/// fail; errors as for File, not_found for what does not exist. Paths are absolute or relative to the working
/// directory. Safe to use from several threads at once.
class Disk {
 public:
  virtual ~Disk() = default;

  virtual Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  /// A directory with everything below it. What is not there is no error.
  virtual Result<void> remove_tree(const std::string& path) = 0;
  virtual Result<void> create_directories(const std::string& path) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  virtual Result<uint64_t> file_size(const std::string& path) = 0;
  /// Unordered, without "." and "..".
  virtual Result<std::vector<DirectoryEntry>> list(const std::string& directory) = 0;
  /// fsync of a directory: names made, renamed and removed in it before the call survive a power cut.
  virtual Result<void> sync_directory(const std::string& directory) = 0;
  /// syncfs: everything in the file system that holds `path`, contents and names of all its files, that was
  /// changed before the call survives a power cut once it returns without error. One call costs less than
  /// syncing hundreds of files one by one, but waits for what others have written to that file system too.
  /// An error is as final as that of File::sync_data, for every file changed since it was last synced; so is
  /// one that write-back met since the last call in this file system, whoever's file it was.
  virtual Result<void> sync_file_system(const std::string& path) = 0;
  virtual Result<VolumeSize> volume(const std::string& path) = 0;
  /// flock-compatible with java.nio's FileChannel.tryLock (an fcntl lock); ErrorKind::already_exists if held
  /// elsewhere.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
};

/// Reads a whole file of at most `size_max` bytes; ErrorKind::too_large above.
Result<std::string> read_file(Disk& disk, const std::string& path, uint64_t size_max);

/// Replaces a file as a whole: written beside it as "<path>.tmp", synced, renamed over it, directory synced.
/// A crash leaves the old content or the new.
Result<void> replace_file(Disk& disk, const std::string& path, std::string_view content);

}  // namespace barnabas::io
