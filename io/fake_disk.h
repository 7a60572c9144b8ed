#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "io/disk.h"

namespace barnabas::io {

/// The calls that a disk gets, for counting them and for letting one of them fail.
enum class DiskCall : uint8_t {
  open,
  read,
  write,
  sync_data,
  truncate,
  size,
  rename,
  remove,
  remove_tree,
  create_directories,
  exists,
  file_size,
  list,
  sync_directory,
  volume,
  lock,
  sync_file_system,
};
inline constexpr std::size_t disk_call_count = 17;

/// One planned failure of a FakeDisk.
struct DiskFault {
  std::optional<DiskCall> call = {};  ///< only calls of this kind; empty: every kind
  std::string path_part = {};  ///< only paths that contain this text; empty: every path (rename: either name)
  uint64_t nth = 1;            ///< the n-th matching call from now on fails, 1 is the next one
  int system_error = 5;        ///< the errno it fails with; EIO unless told
  bool for_good = false;       ///< that call and all matching ones after it, as a dead device does
};

/// What a power cut does to bytes and names that were not synced.
enum class Unsynced {
  lost,         ///< all of them are gone
  partly_kept,  ///< chosen by the seed: any subset of the unsynced 512-byte sectors of a file (so that a
                ///< write is torn), and of each directory's unsynced changes any number, oldest first
};

/// The twin of the POSIX disk in memory, for tests: says what it was asked, fails on demand and forgets what
/// was not synced when the power is cut. Paths are those of the caller; "/" and "." are there from the start,
/// all else is made by create_directories. Safe to use from several threads.
///
/// Rules of durability, as strict as POSIX allows:
///  - Bytes and size of a file are safe once its sync_data has returned, not earlier and by nothing else.
///  - A name made, renamed or removed is safe once sync_directory of its directory has returned. A rename
///  inside one
///    directory is one change: after a power cut either all or nothing of it is there.
///  - A sync_data that fails on purpose throws the unsynced bytes out of the books: a second one succeeds and
///  saves
///    nothing of them, as Linux does after a write error.
///  - Each directory below the root is a file system of its own: sync_file_system makes everything below it
///  durable, and
///    when it fails, throws all unsynced bytes below it out of the books.
class FakeDisk final : public Disk {
 public:
  FakeDisk();
  ~FakeDisk() override;

  Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
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

  /// Faults add up; the first planned one that matches a call decides.
  void add_fault(DiskFault fault);
  /// The n-th call of any kind from now on fails once.
  void fail_call(uint64_t nth, int system_error = 5) {
    add_fault({.nth = nth, .system_error = system_error});
  }
  void clear_faults();
  /// Whether a planned fault has not met its call yet.
  bool fault_pending() const;

  /// Bytes of all files together; a write beyond it stores what fits and fails with ENOSPC.
  void set_capacity(uint64_t bytes);
  /// Everything below `directory` refuses changes with EROFS.
  void set_read_only(const std::string& directory, bool read_only);

  /// The n-th call from now on and all later ones fail with EIO until power_cut: the machine is off. The n-th
  /// call itself may have had its effect, unsynced.
  void power_off_at(uint64_t nth);
  bool is_off() const;
  /// Cuts the power and turns the machine on again: what was not synced is treated as said, locks and planned
  /// faults are gone, files opened before answer only errors. The same seed and history give the same
  /// outcome.
  void power_cut(Unsynced unsynced = Unsynced::lost, uint64_t seed = 0);

  /// Calls so far, failed ones included.
  uint64_t calls() const;
  uint64_t calls(DiskCall call) const;
  void reset_counters();

  /// For arranging and looking, past faults and counters. `put_file` makes missing directories and is durable
  /// at once.
  void put_file(const std::string& path, std::string_view content);
  std::optional<std::string> content(const std::string& path) const;  ///< empty: no such file
  std::vector<std::string> all_files() const;                         ///< paths, sorted

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace barnabas::io
