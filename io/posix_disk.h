#pragma once

#include "io/disk.h"

namespace barnabas::io {

/// The operating system's files. Interrupted calls are repeated, short reads and writes are carried on,
/// descriptors are not handed down to child processes. Stateless except for two tables that the whole process
/// shares. Of locks: fcntl locks do not exclude a process from itself, so a second lock of one file is
/// refused. Of file systems with locks in them: a descriptor each, kept from the first lock on, so that
/// sync_file_system hears of every error of write-back since then.
class PosixDisk final : public Disk {
 public:
  Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  /// A file, a symbolic link or an empty directory.
  Result<void> remove(const std::string& path) override;
  Result<void> remove_tree(const std::string& path) override;
  Result<void> create_directories(const std::string& path) override;
  Result<bool> exists(const std::string& path) override;
  Result<uint64_t> file_size(const std::string& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::string& directory) override;
  Result<void> sync_directory(const std::string& directory) override;
  Result<void> sync_file_system(const std::string& path) override;
  Result<VolumeSize> volume(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
};

}  // namespace barnabas::io
