#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"

namespace barnabas::app {

/// Calls something on a thread of its own, each time at the moment that the call before returned.
class Ticker {
 public:
  using Tick = std::function<Instant()>;
  explicit Ticker(Tick tick) : tick_(std::move(tick)), thread_([this] { run(); }) {}
  ~Ticker() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      const Instant next = tick_();
      lock.lock();
      wake_.wait_until(lock, next, [this] { return stopping_; });
    }
  }

  const Tick tick_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace barnabas::app
