#pragma once

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace barnabas::app {

/// What SIGHUP, SIGTERM and SIGINT do, on a thread of its own. SIGHUP while the broker serves: wait()
/// returns, and the caller reads the settings again; before and after it is nothing. Where standard input is
/// a terminal SIGHUP is its end, and means what SIGTERM means. SIGTERM and SIGINT:
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
  /// Blocks until a signal that the caller has to see to: SIGHUP, any number of times, and then the first one
  /// that ends the broker. Several SIGHUPs of which none was seen to are one.
  int wait();
  /// The broker has stopped: `hurry` is called no more.
  void stopped();

 private:
  enum class Phase { starting, serving, stopping, hurried };
  void run();
  void received(int number);
  void hung_up();

  sigset_t set_{};
  std::atomic<Phase> phase_{Phase::starting};
  std::mutex mutex_;
  std::function<void()> hurry_;
  const bool hangup_ends_;
  int first_ = 0;        ///< that ends the broker; 0: none yet
  bool reload_ = false;  ///< a SIGHUP that wait() has not told of
  std::condition_variable told_;
  std::thread thread_;
};

}  // namespace barnabas::app
