#include "app/monitoring/loop_probe.h"

#include <cstddef>
#include <mutex>
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
      if (missing > 0) return;  // the round under way may have passed a loop already
      begin();
    }
    post();
  }

  /// With the lock held.
  void begin() {
    current = std::exchange(next, {});
    missing = loops.size();
  }

  void post() {
    for (std::size_t i = 0; i < loops.size(); ++i)
      loops[i].post([self = shared_from_this()] { self->turned(); });
  }

  void turned() {
    std::vector<Told> done;
    bool more = false;
    {
      const std::scoped_lock lock(mutex);
      if (--missing > 0) return;
      done = std::exchange(current, {});
      more = !next.empty();
      if (more) begin();
    }
    if (more) post();
    for (Told& told : done) told(true);
  }

  network::EventLoops& loops;
  std::mutex mutex;
  std::vector<Told> current;  ///< told at the end of this round
  std::vector<Told> next;     ///< of the one after
  std::size_t missing = 0;    ///< loops that have yet to turn in this round; 0: there is none
};

LoopProbe::LoopProbe(network::EventLoops& loops) : state_(std::make_shared<State>(loops)) {}

void LoopProbe::ask(Told told) {
  state_->ask(std::move(told));
}

}  // namespace barnabas::app
