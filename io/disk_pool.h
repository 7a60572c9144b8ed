#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace barnabas::io {

/// A few threads for work that may block on a device (fsync, cold reads, directory work), so that event loops
/// never do. Work is started in the order in which it was submitted; with more than one thread it may end in
/// another order. All methods may be called from any thread, also from work that runs in the pool, except
/// shut_down and the destructor.
class DiskPool {
 public:
  using Work = std::move_only_function<void()>;

  struct Options {
    std::string name = "disk";  ///< threads are called "<name>-0", "<name>-1" …; at most 10 characters
    std::size_t threads = 2;
    std::size_t queue_max = 1 << 16;  ///< work that waits; above it submit refuses
  };

  explicit DiskPool(Options options);
  /// As shut_down.
  ~DiskPool();
  DiskPool(const DiskPool&) = delete;
  DiskPool& operator=(const DiskPool&) = delete;

  /// Hands over work; false, and `work` is destroyed without being run, when the queue is full or the pool
  /// shut down. Work must not throw.
  [[nodiscard]] bool submit(Work work);

  /// Refuses new work, runs all that waits, joins the threads. Once done it does nothing.
  void shut_down();

  std::size_t waiting() const;
  std::size_t threads() const { return threads_.size(); }

 private:
  void run();

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> queue_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace barnabas::io
