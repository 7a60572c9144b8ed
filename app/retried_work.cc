#include "app/retried_work.h"

#include <utility>

#include "base/log.h"

namespace barnabas::app {

namespace {

constinit Logger log_{"barnabas"};

}  // namespace

bool RetriedWork::offer(const Shared& work) {
  return pool_.submit([work] { (*work)(); });
}

void RetriedWork::submit(const std::string& kind, io::DiskPool::Work work) {
  auto shared = std::make_shared<io::DiskPool::Work>(std::move(work));
  const std::lock_guard lock(mutex_);
  refused_.erase(kind);
  if (offer(shared)) return;
  log_.warn("the disk pool takes no more work, to be tried again: {}", kind);
  refused_[kind] = std::move(shared);
}

void RetriedWork::retry() {
  const std::lock_guard lock(mutex_);
  std::erase_if(refused_, [this](const auto& entry) { return offer(entry.second); });
}

}  // namespace barnabas::app
