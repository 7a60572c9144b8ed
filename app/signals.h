#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <semaphore>
#include <thread>

namespace barnabas::app {

/// What SIGTERM and SIGINT do, on a thread of its own:
///  - while the broker starts: the end at once, as a crash, which loses nothing that was acknowledged;
///  - the first one while it serves: wait() returns, and the caller stops the broker in order;
///  - the second one: `hurry`, which cuts short what can be cut short;
///  - the third one: the end at once.
/// One per process, made before any other thread, so that all inherit the blocked signals.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// The broker is up. `hurry` is called from the thread of the signals, after wait() has returned.
  void serving(std::function<void()> hurry);
  /// Blocks until the first signal; its number.
  int wait();
  /// The broker has stopped: `hurry` is called no more.
  void stopped();

 private:
  enum class Phase { starting, serving, stopping, hurried };
  void run();
  void received(int number);

  sigset_t set_{};
  std::atomic<Phase> phase_{Phase::starting};
  std::mutex mutex_;
  std::function<void()> hurry_;
  int first_ = 0;
  std::binary_semaphore stop_{0};
  std::thread thread_;
};

}  // namespace barnabas::app
