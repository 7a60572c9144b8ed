#include "storage/file_pool.h"

#include <utility>

#include "base/assert.h"

namespace barnabas::storage {

FilePool::FilePool(io::Disk& disk, std::size_t open_files_max)
    : disk_(disk), open_files_max_(open_files_max) {
  BARNABAS_ASSERT(open_files_max >= 1);
}

FilePool::~FilePool() {
  BARNABAS_ASSERT(newest_ == nullptr);
}

void FilePool::Slot::release() {
  if (FilePool* pool = pool_.load(std::memory_order_acquire)) pool->remove(*this);
}

std::shared_ptr<io::File> FilePool::find(Slot& slot) {
  std::lock_guard lock(mutex_);
  if (!slot.file_) return nullptr;
  if (newest_ != &slot) {
    unlink(slot);
    link_newest(slot);
  }
  return slot.file_;
}

Result<std::shared_ptr<io::File>> FilePool::open(Slot& slot, const std::string& path, io::OpenMode mode) {
  BARNABAS_ASSIGN(std::shared_ptr<io::File> file, disk_.open(path, mode));
  {
    std::lock_guard lock(mutex_);
    ++opens_;
    // Another thread was faster: one descriptor for each file is enough.
    if (slot.file_) return slot.file_;
  }
  put(slot, file);
  return file;
}

void FilePool::put(Slot& slot, std::shared_ptr<io::File> file) {
  // Closing happens when these go out of scope, without the lock.
  std::shared_ptr<io::File> replaced, evicted;
  std::lock_guard lock(mutex_);
  if (slot.file_) {
    replaced = std::exchange(slot.file_, nullptr);
    unlink(slot);
    --open_files_;
  }
  slot.pool_.store(this, std::memory_order_release);
  slot.file_ = std::move(file);
  link_newest(slot);
  ++open_files_;
  if (open_files_ > open_files_max_) {
    Slot& victim = *oldest_;
    unlink(victim);
    evicted = std::exchange(victim.file_, nullptr);
    --open_files_;
  }
}

void FilePool::remove(Slot& slot) {
  std::shared_ptr<io::File> closed;
  std::lock_guard lock(mutex_);
  if (!slot.file_) return;
  unlink(slot);
  closed = std::exchange(slot.file_, nullptr);
  --open_files_;
}

void FilePool::unlink(Slot& slot) {
  (slot.newer_ != nullptr ? slot.newer_->older_ : newest_) = slot.older_;
  (slot.older_ != nullptr ? slot.older_->newer_ : oldest_) = slot.newer_;
  slot.newer_ = slot.older_ = nullptr;
}

void FilePool::link_newest(Slot& slot) {
  slot.older_ = newest_;
  (newest_ != nullptr ? newest_->newer_ : oldest_) = &slot;
  newest_ = &slot;
}

std::size_t FilePool::open_files() const {
  std::lock_guard lock(mutex_);
  return open_files_;
}

uint64_t FilePool::opens() const {
  std::lock_guard lock(mutex_);
  return opens_;
}

}  // namespace barnabas::storage
