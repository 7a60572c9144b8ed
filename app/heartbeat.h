#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "app/ticker.h"
#include "network/event_loops.h"

namespace barnabas::app {

/// Proves that the event loops turn: every `period` each loop is given something to do, and `beat` is called,
/// on a thread of this class, when all of them have done what they were given before. A loop that hangs is a
/// warning in the log and no beat.
class Heartbeat {
 public:
  /// The loops must outlive it.
  Heartbeat(network::EventLoops& loops, std::chrono::microseconds period, std::function<void()> beat);

 private:
  Instant tick();

  /// Shared with what is posted, which may run when this object has gone.
  using Answers = std::vector<std::atomic<bool>>;
  network::EventLoops& loops_;
  const std::chrono::microseconds period_;
  const std::function<void()> beat_;
  std::shared_ptr<Answers> answers_;
  bool asked_ = false;
  bool hangs_ = false;
  Ticker ticker_;  ///< last: it uses the others
};

}  // namespace barnabas::app
