#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "app/loop_probe.h"
#include "app/ticker.h"
#include "network/event_loops.h"

namespace barnabas::app {

/// Proves that the event loops turn: every `period` they are asked to, and `beat` is called, on a thread of
/// this class, when all of them have turned since it last asked. Loops that hang are a warning in the log and
/// no beat.
class Heartbeat {
 public:
  /// The loops must outlive it.
  Heartbeat(network::EventLoops& loops, std::chrono::microseconds period, std::function<void()> beat);

 private:
  Instant tick();

  const std::chrono::microseconds period_;
  const std::function<void()> beat_;
  LoopProbe probe_;
  /// Shared with the question, which may be answered when this object has gone.
  std::shared_ptr<std::atomic<bool>> turned_ = std::make_shared<std::atomic<bool>>(false);
  bool asked_ = false;
  bool hangs_ = false;
  Ticker ticker_;  ///< last: it uses the others
};

}  // namespace barnabas::app
