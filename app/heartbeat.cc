#include "app/heartbeat.h"

#include <utility>

#include "base/log.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

}  // namespace

Heartbeat::Heartbeat(network::EventLoops& loops, std::chrono::microseconds period, std::function<void()> beat)
    : loops_(loops),
      period_(period),
      beat_(std::move(beat)),
      answers_(std::make_shared<Answers>(loops.size())),
      ticker_([this] { return tick(); }) {}

Instant Heartbeat::tick() {
  bool all = true;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    if (asked_ && !(*answers_)[i].load()) {
      all = false;
      if (!hangs_) log_.warn("an event loop does not turn loop={}", i);
      continue;
    }
    (*answers_)[i] = false;
    loops_[i].post([answers = answers_, i] { (*answers)[i] = true; });
  }
  hangs_ = !all;
  if (all && asked_) beat_();
  asked_ = true;
  return std::chrono::steady_clock::now() + period_;
}

}  // namespace barnabas::app
