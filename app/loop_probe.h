#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "network/event_loops.h"

namespace barnabas::app {

/// Finds out whether event loops turn: each is given something to do, and whoever asked is told once all have
/// done it. One round at a time, so that loops which do not turn gather nothing. All methods from any thread.
class LoopProbe {
 public:
  /// `loops` must outlive the last round.
  explicit LoopProbe(network::EventLoops& loops);

  /// Called with true, on a thread of a loop, when they have all turned after this call; with false inside
  /// this call when too many wait already. Never called while a loop stands still.
  using Told = std::move_only_function<void(bool turn)>;
  void ask(Told told);

  /// The loops that have yet to turn in the round under way; none when there is no round.
  std::vector<std::size_t> missing() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace barnabas::app
