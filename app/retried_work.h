#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "io/disk_pool.h"

namespace barnabas::app {

/// Work for the disk pool that has to be done in the end. What the pool refuses, because too much waits
/// there, is kept and offered again; of each kind only the newest, which makes those before it needless. Work
/// must bear being overtaken by newer work of its kind. Any thread.
class RetriedWork {
 public:
  /// `pool` outlives this.
  explicit RetriedWork(io::DiskPool& pool) : pool_(pool) {}

  void submit(const std::string& kind, io::DiskPool::Work work);
  /// Offers again what was refused. To be called every now and then.
  void retry();

 private:
  using Shared = std::shared_ptr<io::DiskPool::Work>;
  bool offer(const Shared& work);

  io::DiskPool& pool_;
  std::mutex mutex_;
  std::map<std::string, Shared> refused_;  ///< by kind
};

}  // namespace barnabas::app
