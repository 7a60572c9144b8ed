#include "app/loop_probe.h"

#include <cstddef>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace barnabas::app {
namespace {

constexpr std::size_t waiting_max = 256;

}  // namespace

struct LoopProbe::State : std::enable_shared_from_this<LoopProbe::State> {
  explicit State(network::EventLoops& all) : loops(all) {}

  void ask(Told told) {
    {
      std::unique_lock lock(mutex);
      if (next.size() >= waiting_max) {
        lock.unlock();
        return told(false);
      }
      next.push_back(std::move(told));
      if (!missing.empty()) return;  // the round under way may have passed a loop already
      begin();
    }
    post();
  }

  /// With the lock held.
  void begin() {
    current = std::exchange(next, {});
    for (std::size_t i = 0; i < loops.size(); ++i) missing.insert(i);
  }

  void post() {
    for (std::size_t i = 0; i < loops.size(); ++i)
      loops[i].post([self = shared_from_this(), i] { self->turned(i); });
  }

  void turned(std::size_t loop) {
    std::vector<Told> done;
    bool more = false;
    {
      const std::scoped_lock lock(mutex);
      missing.erase(loop);
      if (!missing.empty()) return;
      done = std::exchange(current, {});
      more = !next.empty();
      if (more) begin();
    }
    if (more) post();
    for (Told& told : done) told(true);
  }

  network::EventLoops& loops;
  std::mutex mutex;
  std::vector<Told> current;      ///< told at the end of this round
  std::vector<Told> next;         ///< of the one after
  std::set<std::size_t> missing;  ///< loops that have yet to turn in this round; empty: there is none
};

LoopProbe::LoopProbe(network::EventLoops& loops) : state_(std::make_shared<State>(loops)) {}

void LoopProbe::ask(Told told) {
  state_->ask(std::move(told));
}

std::vector<std::size_t> LoopProbe::missing() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->missing.begin(), state_->missing.end()};
}

}  // namespace barnabas::app
