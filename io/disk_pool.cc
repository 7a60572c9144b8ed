#include "io/disk_pool.h"

#include <pthread.h>

#include "base/assert.h"

namespace barnabas::io {
namespace {

// Linux takes 15 characters.
constexpr std::size_t name_max = 10;

}  // namespace

DiskPool::DiskPool(Options options) : options_(std::move(options)) {
  BARNABAS_ASSERT(options_.threads > 0 && options_.threads < 1000);
  BARNABAS_ASSERT(options_.name.size() <= name_max);
  threads_.reserve(options_.threads);
  for (std::size_t index = 0; index < options_.threads; ++index) {
    threads_.emplace_back([this] { run(); });
    const std::string name = options_.name + "-" + std::to_string(index);
    ::pthread_setname_np(threads_.back().native_handle(), name.c_str());
  }
}

DiskPool::~DiskPool() {
  shut_down();
}

bool DiskPool::submit(Work work) {
  {
    const std::lock_guard guard(mutex_);
    if (closing_ || queue_.size() >= options_.queue_max) return false;
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

void DiskPool::shut_down() {
  {
    const std::lock_guard guard(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::size_t DiskPool::waiting() const {
  const std::lock_guard guard(mutex_);
  return queue_.size();
}

void DiskPool::run() {
  while (true) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace barnabas::io
