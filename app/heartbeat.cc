#include "app/heartbeat.h"

#include <fmt/ranges.h>

#include <utility>

#include "base/log.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

}  // namespace

Heartbeat::Heartbeat(network::EventLoops& loops, std::chrono::microseconds period, std::function<void()> beat)
    : period_(period), beat_(std::move(beat)), probe_(loops), ticker_([this] { return tick(); }) {}

Instant Heartbeat::tick() {
  const auto next = [this] { return std::chrono::steady_clock::now() + period_; };
  if (asked_ && !turned_->exchange(false)) {
    if (!std::exchange(hangs_, true))
      log_.warn("event loops do not turn loops={}", fmt::join(probe_.missing(), ","));
    return next();
  }
  hangs_ = false;
  if (std::exchange(asked_, true)) beat_();
  probe_.ask([turned = turned_](bool turn) { *turned = turn; });
  return next();
}

}  // namespace barnabas::app
