#include "coordinator/timers.h"

namespace barnabas::coordinator {

void Timers::enqueue(const std::string& name, Timer& timer) {
  timer.queued = ++last_number_;
  timer.queued_at = timer.at;
  queue_.push({timer.at, timer.queued, name});
}

void Timers::set(std::string_view name, Instant at, Fire fire) {
  const auto [found, is_new] = timers_.try_emplace(std::string(name));
  Timer& timer = found->second;
  timer.at = at;
  timer.fire = std::move(fire);
  if (is_new || at < timer.queued_at) enqueue(found->first, timer);
}

bool Timers::move(std::string_view name, Instant at) {
  const auto found = timers_.find(name);
  if (found == timers_.end()) return false;
  found->second.at = at;
  if (at < found->second.queued_at) enqueue(found->first, found->second);
  return true;
}

void Timers::cancel(std::string_view name) {
  if (const auto found = timers_.find(name); found != timers_.end()) timers_.erase(found);
  drop_stale();
}

// Entries of timers that were cancelled or set earlier would otherwise pile up.
void Timers::drop_stale() {
  while (!queue_.empty()) {
    const auto found = timers_.find(queue_.top().name);
    if (found != timers_.end() && found->second.queued == queue_.top().number) break;
    queue_.pop();
  }
  if (queue_.size() <= 2 * timers_.size() + 64) return;
  queue_ = {};
  for (auto& [name, timer] : timers_) enqueue(name, timer);
}

std::optional<Instant> Timers::next() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.top().at;
}

std::optional<Timers::Due> Timers::take_due(Instant now) {
  while (true) {
    drop_stale();
    if (queue_.empty() || queue_.top().at > now) return std::nullopt;
    const auto found = timers_.find(queue_.top().name);
    queue_.pop();
    if (found->second.at > now) {  // it was moved to later meanwhile
      enqueue(found->first, found->second);
      continue;
    }
    Due due{found->first, std::move(found->second.fire)};
    timers_.erase(found);
    return due;
  }
}

}  // namespace barnabas::coordinator
