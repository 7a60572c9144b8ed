#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "io/disk.h"

namespace barnabas::storage {

/// Keeps the number of descriptors that logs hold open within a budget: a file is opened when it is used, and
/// the one unused for the longest time is closed when another needs its place. Whoever holds a file it gave
/// (a FileSlice on its way to a socket, a write that runs) keeps that one open beyond the budget until done.
/// Safe to use from several threads at once. Must outlive all its slots.
class FilePool {
 public:
  /// Where a file's place in the pool is remembered: a member of whatever stands for the file. Gives up its
  /// place when destroyed.
  class Slot {
   public:
    Slot() = default;
    ~Slot() { release(); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    /// Gives the place back, also while others use the slot; the next use opens the file again (after a
    /// rename, with its new name).
    void release();

   private:
    friend class FilePool;
    /// Once a file was put here. Not under the pool's lock, which is reached through it only.
    std::atomic<FilePool*> pool_{nullptr};
    std::shared_ptr<io::File> file_;
    Slot* newer_ = nullptr;
    Slot* older_ = nullptr;
  };

  /// `open_files_max` must be at least 1.
  FilePool(io::Disk& disk, std::size_t open_files_max);
  ~FilePool();
  FilePool(const FilePool&) = delete;
  FilePool& operator=(const FilePool&) = delete;

  /// The file of a slot. `path` is asked for its name only when it has to be opened (with `mode`).
  template <class PathOf>
  Result<std::shared_ptr<io::File>> get(Slot& slot, io::OpenMode mode, PathOf&& path) {
    if (auto file = find(slot)) return file;
    return open(slot, path(), mode);
  }

  /// The file of a slot, if it is open.
  std::shared_ptr<io::File> find_open(Slot& slot) { return find(slot); }

  /// Puts a file that was opened elsewhere into a slot.
  void put(Slot& slot, std::shared_ptr<io::File> file);

  std::size_t open_files() const;
  std::size_t open_files_max() const { return open_files_max_; }
  /// How often a file had to be opened since the pool was made.
  uint64_t opens() const;

  io::Disk& disk() { return disk_; }

 private:
  std::shared_ptr<io::File> find(Slot& slot);
  Result<std::shared_ptr<io::File>> open(Slot& slot, const std::string& path, io::OpenMode mode);
  void remove(Slot& slot);
  void unlink(Slot& slot);
  void link_newest(Slot& slot);

  io::Disk& disk_;
  const std::size_t open_files_max_;
  mutable std::mutex mutex_;
  Slot* newest_ = nullptr;
  Slot* oldest_ = nullptr;
  std::size_t open_files_ = 0;
  uint64_t opens_ = 0;
};

}  // namespace barnabas::storage
