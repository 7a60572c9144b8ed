#include "io/fake_disk.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/assert.h"
#include "io/fake_tree.h"
#include "io/system_error.h"

namespace barnabas::io {
namespace {

constexpr uint64_t unlimited_bytes = uint64_t{1} << 40;

bool is_change(DiskCall call) {
  switch (call) {
    case DiskCall::write:
    case DiskCall::truncate:
    case DiskCall::rename:
    case DiskCall::remove:
    case DiskCall::remove_tree:
    case DiskCall::create_directories:
      return true;
    default:
      return false;
  }
}

bool is_below(const std::vector<std::string>& path, const std::vector<std::string>& directory) {
  return path.size() >= directory.size() && std::equal(directory.begin(), directory.end(), path.begin());
}

std::unexpected<Error> refused(std::string_view call, const std::string& path, int number) {
  return std::unexpected<Error>(system_error(call, path, number));
}

}  // namespace

struct FakeDisk::State {
  /// What becomes of a call: an errno, or 0; and whether it has its effect although it fails.
  struct Verdict {
    int number = 0;
    bool has_effect = true;
  };

  mutable std::mutex mutex;
  std::shared_ptr<FakeNode> root = std::make_shared<FakeNode>(true);
  uint64_t generation = 0;  // of power cuts
  std::array<uint64_t, disk_call_count> counts{};
  uint64_t total = 0;
  std::vector<DiskFault> faults;
  std::optional<uint64_t> off_at;  // of `total`
  bool off = false;
  uint64_t capacity = unlimited_bytes;
  std::vector<std::vector<std::string>> read_only;
  std::set<std::vector<std::string>> locks;

  /// Counts a call and decides about it. `creates` is for opening a file that is not there.
  Verdict enter(DiskCall call, const std::string& path, const std::string& other_path = {},
                bool creates = false) {
    ++counts[static_cast<std::size_t>(call)];
    ++total;
    if (off) return {EIO, false};
    if (off_at && total >= *off_at) {
      off = true;
      return {EIO, call != DiskCall::sync_data && call != DiskCall::sync_directory &&
                       call != DiskCall::sync_file_system};
    }
    int number = 0;
    for (DiskFault& fault : faults) {
      if (fault.call && *fault.call != call) continue;
      if (!path.contains(fault.path_part) && !other_path.contains(fault.path_part)) continue;
      if (fault.nth > 0 && --fault.nth > 0) continue;
      if (number == 0) number = fault.system_error;
    }
    std::erase_if(faults, [](const DiskFault& fault) { return fault.nth == 0 && !fault.for_good; });
    if (number != 0) return {number, false};
    if ((is_change(call) || creates) && is_read_only(path)) return {EROFS, false};
    return {};
  }

  bool is_read_only(const std::string& path) const {
    const auto steps = path_steps(path);
    return std::ranges::any_of(read_only, [&](const auto& directory) { return is_below(steps, directory); });
  }

  std::shared_ptr<FakeNode> find(const std::vector<std::string>& steps) const {
    std::shared_ptr<FakeNode> node = root;
    for (const std::string& step : steps) {
      const auto next = node->names.find(step);
      if (next == node->names.end()) return nullptr;
      node = next->second;
    }
    return node;
  }
  std::shared_ptr<FakeNode> find(const std::string& path) const { return find(path_steps(path)); }

  /// The directory that holds the last step of a path; null when it is not there.
  std::shared_ptr<FakeNode> find_parent(const std::string& path, std::string& name) const {
    auto steps = path_steps(path);
    if (steps.empty()) return nullptr;
    name = steps.back();
    steps.pop_back();
    auto node = find(steps);
    return node && node->is_directory ? node : nullptr;
  }

  int make_directories(const std::string& path) {
    std::shared_ptr<FakeNode> node = root;
    for (const std::string& step : path_steps(path)) {
      if (!node->is_directory) return ENOTDIR;
      if (!node->names.contains(step)) node->change({{step, std::make_shared<FakeNode>(true)}});
      node = node->names.at(step);
    }
    return node->is_directory ? 0 : EEXIST;
  }

  static void remove_below(FakeNode& directory) {
    while (!directory.names.empty()) {
      const auto [name, node] = *directory.names.begin();
      remove_below(*node);
      directory.change({{name, nullptr}});
    }
  }

  uint64_t room() const {
    const uint64_t used = root->bytes_below();
    return used < capacity ? capacity - used : 0;
  }
};

namespace {

using State = FakeDisk::State;

class FakeFile final : public File {
 public:
  FakeFile(std::shared_ptr<State> state, std::shared_ptr<FakeNode> node, std::string path, bool writable)
      : state_(std::move(state)),
        node_(std::move(node)),
        path_(std::move(path)),
        generation_(state_->generation),
        writable_(writable) {}

  Result<std::size_t> read_at(MutableByteView into, uint64_t position) override {
    const std::lock_guard guard(state_->mutex);
    if (const int number = enter(DiskCall::read).number) return refused("read", path_, number);
    return node_->content.read(into, position);
  }

  Result<void> write_at(std::span<const ByteView> pieces, uint64_t position) override {
    const std::lock_guard guard(state_->mutex);
    auto [number, has_effect] = enter(DiskCall::write);
    if (number == 0 && !writable_) number = EBADF;
    if (number == EBADF || number == EROFS || is_stale())
      return refused("write", path_, number ? number : EIO);
    uint64_t total = 0;
    for (const ByteView piece : pieces) total += piece.size();
    uint64_t allowed = total;
    if (number != 0 && !has_effect) allowed = state_->off ? 0 : total / 2;  // an error in the middle of it
    if (state_->capacity != unlimited_bytes) {
      const uint64_t limit = node_->content.size() + state_->room();
      if (position + allowed > limit) {
        allowed = limit > position ? limit - position : 0;
        if (number == 0) number = ENOSPC;
      }
    }
    for (ByteView piece : pieces) {
      piece = piece.first(std::min<uint64_t>(piece.size(), allowed));
      node_->content.write(piece, position);
      position += piece.size();
      allowed -= piece.size();
    }
    if (number != 0) return refused("write", path_, number);
    return {};
  }

  Result<void> sync_data() override {
    const std::lock_guard guard(state_->mutex);
    if (const int number = enter(DiskCall::sync_data).number) {
      if (!state_->off && !is_stale()) node_->content.forget_unsynced();
      return refused("fdatasync", path_, number);
    }
    node_->content.sync();
    return {};
  }

  Result<void> truncate(uint64_t size) override {
    const std::lock_guard guard(state_->mutex);
    auto [number, has_effect] = enter(DiskCall::truncate);
    if (number == 0 && !writable_) number = EINVAL;
    if (number != 0 && (!has_effect || !writable_)) return refused("truncate", path_, number);
    node_->content.resize(size);
    if (number != 0) return refused("truncate", path_, number);
    return {};
  }

  Result<uint64_t> size() const override {
    const std::lock_guard guard(state_->mutex);
    if (const int number = enter(DiskCall::size).number) return refused("stat", path_, number);
    return node_->content.size();
  }

  int descriptor() const override { return -1; }
  const std::string& path() const override { return path_; }

 private:
  bool is_stale() const { return generation_ != state_->generation; }

  /// A file from before a power cut belongs to a process that is gone: its calls neither count nor have
  /// effects.
  State::Verdict enter(DiskCall call) const {
    if (is_stale()) return {EIO, false};
    return state_->enter(call, path_);
  }

  const std::shared_ptr<State> state_;
  const std::shared_ptr<FakeNode> node_;
  const std::string path_;
  const uint64_t generation_;
  const bool writable_;
};

class FakeLock final : public FileLock {
 public:
  FakeLock(std::shared_ptr<State> state, std::vector<std::string> steps)
      : state_(std::move(state)), steps_(std::move(steps)), generation_(state_->generation) {}
  ~FakeLock() override {
    const std::lock_guard guard(state_->mutex);
    if (generation_ == state_->generation) state_->locks.erase(steps_);
  }

 private:
  const std::shared_ptr<State> state_;
  const std::vector<std::string> steps_;
  const uint64_t generation_;
};

}  // namespace

FakeDisk::FakeDisk() : state_(std::make_shared<State>()) {}
FakeDisk::~FakeDisk() = default;

Result<std::shared_ptr<File>> FakeDisk::open(const std::string& path, OpenMode mode) {
  const std::lock_guard guard(state_->mutex);
  std::shared_ptr<FakeNode> node = state_->find(path);
  const bool may_create = mode == OpenMode::create || mode == OpenMode::create_new;
  const auto [number, has_effect] = state_->enter(DiskCall::open, path, {}, !node && may_create);
  if (number != 0 && !has_effect) return refused("open", path, number);
  if (node && mode == OpenMode::create_new) return refused("open", path, EEXIST);
  if (node && node->is_directory) return refused("open", path, EISDIR);
  if (mode != OpenMode::read && state_->is_read_only(path)) return refused("open", path, EROFS);
  if (!node) {
    std::string name;
    const auto parent = state_->find_parent(path, name);
    if (!may_create || !parent) return refused("open", path, ENOENT);
    node = std::make_shared<FakeNode>(false);
    parent->change({{name, node}});
  }
  if (number != 0) return refused("open", path, number);
  return std::make_shared<FakeFile>(state_, node, path, mode != OpenMode::read);
}

Result<void> FakeDisk::rename(const std::string& from, const std::string& to) {
  const std::lock_guard guard(state_->mutex);
  auto [number, has_effect] = state_->enter(DiskCall::rename, from, to);
  if (number != 0 && !has_effect) return refused("rename to " + to + " of", from, number);
  std::string from_name;
  std::string to_name;
  const auto source = state_->find_parent(from, from_name);
  const auto target = state_->find_parent(to, to_name);
  const auto node = state_->find(from);
  const auto replaced = state_->find(to);
  if (!source || !target || !node) return refused("rename to " + to + " of", from, ENOENT);
  if (replaced && replaced != node) {
    if (replaced->is_directory && !replaced->names.empty()) number = ENOTEMPTY;
    if (replaced->is_directory != node->is_directory) number = node->is_directory ? ENOTDIR : EISDIR;
    if (number != 0) return refused("rename to " + to + " of", from, number);
  }
  if (source == target) {
    if (from_name != to_name) source->change({{from_name, nullptr}, {to_name, node}});
  } else {
    target->change({{to_name, node}});
    source->change({{from_name, nullptr}});
  }
  if (number != 0) return refused("rename to " + to + " of", from, number);
  return {};
}

Result<void> FakeDisk::remove(const std::string& path) {
  const std::lock_guard guard(state_->mutex);
  const auto [number, has_effect] = state_->enter(DiskCall::remove, path);
  if (number != 0 && !has_effect) return refused("remove", path, number);
  std::string name;
  const auto parent = state_->find_parent(path, name);
  const auto node = state_->find(path);
  if (!parent || !node) return refused("remove", path, ENOENT);
  if (!node->names.empty()) return refused("remove", path, ENOTEMPTY);
  parent->change({{name, nullptr}});
  if (number != 0) return refused("remove", path, number);
  return {};
}

Result<void> FakeDisk::remove_tree(const std::string& path) {
  const std::lock_guard guard(state_->mutex);
  const auto [number, has_effect] = state_->enter(DiskCall::remove_tree, path);
  if (number != 0 && !has_effect) return refused("remove", path, number);
  std::string name;
  const auto parent = state_->find_parent(path, name);
  if (const auto node = state_->find(path); parent && node) {
    State::remove_below(*node);
    parent->change({{name, nullptr}});
  }
  if (number != 0) return refused("remove", path, number);
  return {};
}

Result<void> FakeDisk::create_directories(const std::string& path) {
  const std::lock_guard guard(state_->mutex);
  const bool is_there = state_->find(path) != nullptr;
  auto [number, has_effect] = state_->enter(is_there ? DiskCall::exists : DiskCall::create_directories, path);
  if (number != 0 && !has_effect) return refused("make directory", path, number);
  const int outcome = state_->make_directories(path);
  if (number == 0) number = outcome;
  if (number != 0) return refused("make directory", path, number);
  return {};
}

Result<bool> FakeDisk::exists(const std::string& path) {
  const std::lock_guard guard(state_->mutex);
  if (const int number = state_->enter(DiskCall::exists, path).number) return refused("stat", path, number);
  return state_->find(path) != nullptr;
}

Result<uint64_t> FakeDisk::file_size(const std::string& path) {
  const std::lock_guard guard(state_->mutex);
  if (const int number = state_->enter(DiskCall::file_size, path).number)
    return refused("stat", path, number);
  const auto node = state_->find(path);
  if (!node) return refused("stat", path, ENOENT);
  return node->content.size();
}

Result<std::vector<DirectoryEntry>> FakeDisk::list(const std::string& directory) {
  const std::lock_guard guard(state_->mutex);
  if (const int number = state_->enter(DiskCall::list, directory).number)
    return refused("list directory", directory, number);
  const auto node = state_->find(directory);
  if (!node) return refused("list directory", directory, ENOENT);
  if (!node->is_directory) return refused("list directory", directory, ENOTDIR);
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, child] : node->names) entries.push_back({name, child->is_directory});
  return entries;
}

Result<void> FakeDisk::sync_directory(const std::string& directory) {
  const std::lock_guard guard(state_->mutex);
  if (const int number = state_->enter(DiskCall::sync_directory, directory).number)
    return refused("fsync directory", directory, number);
  const auto node = state_->find(directory);
  if (!node) return refused("open directory", directory, ENOENT);
  if (!node->is_directory) return refused("open directory", directory, ENOTDIR);
  node->sync_names();
  return {};
}

Result<void> FakeDisk::sync_file_system(const std::string& path) {
  const std::lock_guard guard(state_->mutex);
  const int number = state_->enter(DiskCall::sync_file_system, path).number;
  auto steps = path_steps(path);
  if (!state_->find(steps)) return refused("open", path, number != 0 ? number : ENOENT);
  steps.resize(std::min<std::size_t>(steps.size(), 1));
  const auto top = state_->find(steps);
  if (number != 0) {
    if (!state_->off) top->forget_unsynced();
    return refused("syncfs", path, number);
  }
  state_->root->sync_names();
  top->sync_all();
  return {};
}

Result<VolumeSize> FakeDisk::volume(const std::string& path) {
  const std::lock_guard guard(state_->mutex);
  if (const int number = state_->enter(DiskCall::volume, path).number)
    return refused("statvfs", path, number);
  if (!state_->find(path)) return refused("statvfs", path, ENOENT);
  return VolumeSize{.total_bytes = state_->capacity, .usable_bytes = state_->room()};
}

Result<std::unique_ptr<FileLock>> FakeDisk::lock(const std::string& path) {
  const std::lock_guard guard(state_->mutex);
  const bool is_there = state_->find(path) != nullptr;
  const auto [number, has_effect] = state_->enter(DiskCall::lock, path, {}, !is_there);
  if (number != 0) return refused("lock", path, number);
  auto steps = path_steps(path);
  if (state_->locks.contains(steps))
    return fail(ErrorKind::already_exists, "lock " + path + ": held by this process");
  if (!is_there) {
    std::string name;
    const auto parent = state_->find_parent(path, name);
    if (!parent) return refused("open", path, ENOENT);
    parent->change({{name, std::make_shared<FakeNode>(false)}});
  }
  state_->locks.insert(steps);
  return std::make_unique<FakeLock>(state_, std::move(steps));
}

void FakeDisk::add_fault(DiskFault fault) {
  BARNABAS_ASSERT(fault.nth > 0 && fault.system_error > 0);
  const std::lock_guard guard(state_->mutex);
  state_->faults.push_back(std::move(fault));
}

void FakeDisk::clear_faults() {
  const std::lock_guard guard(state_->mutex);
  state_->faults.clear();
}

bool FakeDisk::fault_pending() const {
  const std::lock_guard guard(state_->mutex);
  return std::ranges::any_of(state_->faults, [](const DiskFault& fault) { return fault.nth > 0; });
}

void FakeDisk::set_capacity(uint64_t bytes) {
  const std::lock_guard guard(state_->mutex);
  state_->capacity = bytes;
}

void FakeDisk::set_read_only(const std::string& directory, bool read_only) {
  const std::lock_guard guard(state_->mutex);
  const auto steps = path_steps(directory);
  std::erase(state_->read_only, steps);
  if (read_only) state_->read_only.push_back(steps);
}

void FakeDisk::power_off_at(uint64_t nth) {
  const std::lock_guard guard(state_->mutex);
  state_->off_at = state_->total + nth;
}

bool FakeDisk::is_off() const {
  const std::lock_guard guard(state_->mutex);
  return state_->off;
}

void FakeDisk::power_cut(Unsynced unsynced, uint64_t seed) {
  const std::lock_guard guard(state_->mutex);
  SeededRandom random(seed);
  state_->root->power_cut(unsynced == Unsynced::lost ? nullptr : &random);
  ++state_->generation;
  state_->faults.clear();
  state_->locks.clear();
  state_->off_at.reset();
  state_->off = false;
}

uint64_t FakeDisk::calls() const {
  const std::lock_guard guard(state_->mutex);
  return state_->total;
}

uint64_t FakeDisk::calls(DiskCall call) const {
  const std::lock_guard guard(state_->mutex);
  return state_->counts[static_cast<std::size_t>(call)];
}

void FakeDisk::reset_counters() {
  const std::lock_guard guard(state_->mutex);
  if (state_->off_at) *state_->off_at -= state_->total;
  state_->counts = {};
  state_->total = 0;
}

void FakeDisk::put_file(const std::string& path, std::string_view content) {
  const std::lock_guard guard(state_->mutex);
  BARNABAS_ASSERT(state_->make_directories(parent_directory(path)) == 0);
  std::string name;
  const auto parent = state_->find_parent(path, name);
  BARNABAS_ASSERT(parent != nullptr);
  const auto node = std::make_shared<FakeNode>(false);
  node->content.write(as_byte_view(content), 0);
  node->content.sync();
  parent->change({{name, node}});
  // Durable along the whole way down, and nothing else of what other directories hold.
  std::shared_ptr<FakeNode> way = state_->root;
  for (const std::string& step : path_steps(parent_directory(path))) {
    way->sync_names();
    way = way->names.at(step);
  }
  way->sync_names();
}

std::optional<std::string> FakeDisk::content(const std::string& path) const {
  const std::lock_guard guard(state_->mutex);
  const auto node = state_->find(path);
  if (!node || node->is_directory) return std::nullopt;
  std::string content(node->content.size(), '\0');
  node->content.read(std::as_writable_bytes(std::span(content.data(), content.size())), 0);
  return content;
}

std::vector<std::string> FakeDisk::all_files() const {
  const std::lock_guard guard(state_->mutex);
  std::vector<std::string> paths;
  const auto walk = [&](const auto& self, const FakeNode& directory, const std::string& prefix) -> void {
    for (const auto& [name, node] : directory.names) {
      if (node->is_directory) {
        self(self, *node, prefix + "/" + name);
      } else {
        paths.push_back(prefix + "/" + name);
      }
    }
  };
  walk(walk, *state_->root, "");
  std::ranges::sort(paths);
  return paths;
}

}  // namespace barnabas::io
